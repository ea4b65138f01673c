-- grain: one row: the last finished run of the job, or of any job where there is none
-- parameters: $job
select run_id, started_at
from runs
where status in ('complete', 'incomplete', 'failed')
order by job = $job desc, started_at desc, run_id desc
limit 1;
