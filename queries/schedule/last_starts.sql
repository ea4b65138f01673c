-- grain: one row per job: when its last run that counts began, the place from where missed starts are caught up
-- A run that was cut off does not count, so that its start is made up for; a second one in a row does, so that a job that
-- takes the machine down with it is not started for ever.
with
  ordered as (
    select
      job,
      started_at,
      status in ('running', 'interrupted') as cut_off,
      lag(status in ('running', 'interrupted'), 1, false) over (partition by job order by started_at, run_id) as cut_off_before,
    from runs
    where job is not null
  )
select
  job,
  -- before a first run that was cut off there is none: the minute before it still lets its own start be made up for
  coalesce(
    max(started_at) filter (where not cut_off or cut_off_before),
    min(started_at) - interval 1 minute
  ) as started_at,
from ordered
group by job
order by job;
