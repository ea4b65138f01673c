-- help: Start of the last run of a job, however it ended.
-- grain: one row per job
select job, epoch(max(started_at)) as value
from runs
where job is not null
group by job
order by job;
