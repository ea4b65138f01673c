-- grain: one row per run, the last ten
select run_id, target, job, status, started_at, finished_at
from runs
order by started_at desc
limit 10;
