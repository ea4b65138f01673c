-- A run that is still marked as running although the lock was free was killed. One of $run_ids was killed before its reports, actions
-- and mail were done.
update runs
set status = 'interrupted', finished_at = coalesce(finished_at, $now::timestamptz)
where status = 'running' or list_contains($run_ids::varchar[], run_id);
