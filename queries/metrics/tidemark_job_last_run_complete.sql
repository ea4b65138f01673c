-- help: Whether every source was complete in the last run of a job (1) or not (0).
-- grain: one row per job that ever ended a run
select job, (arg_max(status, started_at) = 'complete')::integer as value
from runs
where job is not null and status <> 'running'
group by job
order by job;
