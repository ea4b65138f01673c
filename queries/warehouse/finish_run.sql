-- Records how a run has ended.
update runs
set status = $status, finished_at = $finished_at::timestamptz
where run_id = $run_id;
