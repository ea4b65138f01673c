insert into runs (run_id, target, job, status, started_at)
values ($run_id, $target, $job, 'running', $started_at::timestamptz);
