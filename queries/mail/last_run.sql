-- grain: the last run of a job that ended, or where there is none the last run of anything
-- parameters: $job
select run_id, started_at
from runs
where status in ('complete', 'incomplete', 'failed')
order by job = $job desc, started_at desc, run_id desc
limit 1;
