-- help: Duration of the last run of a job that ended.
-- grain: one row per job that ever ended a run
select job, greatest(0, arg_max(epoch(finished_at) - epoch(started_at), started_at)) as value
from runs
where job is not null and finished_at is not null
group by job
order by job;
