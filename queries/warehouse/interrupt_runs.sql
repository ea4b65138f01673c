-- A run that is still marked as running although the lock was free was killed.
update runs
set status = 'interrupted', finished_at = $now::timestamptz
where status = 'running';
