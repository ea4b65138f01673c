-- A run that is still marked as running while the lock was free had its process killed.
update runs
set status = 'interrupted', finished_at = $now::timestamptz
where status = 'running';
