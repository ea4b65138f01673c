-- help: End of the last run of a job in which every source was complete.
-- grain: one row per job that ever had one
select job, epoch(max(finished_at)) as value
from runs
where job is not null and status = 'complete'
group by job
order by job;
