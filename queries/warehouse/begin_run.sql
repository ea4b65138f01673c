-- Records that a run begins. Its end is not known until `finish_run`.
insert into runs (run_id, target, job, status, started_at)
values ($run_id, $target, $job, 'running', $started_at::timestamptz);
