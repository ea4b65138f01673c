-- grain: at most one row: as_of of the last run before the current one whose changes were reported, as of $as_of
with
  seen as (select distinct as_of from pulls where as_of <= $as_of::timestamptz),
  current_run as (select max(as_of) as as_of from seen)
select max(seen.as_of) as as_of
from seen
join current_run on seen.as_of < current_run.as_of
left join interrupted_runs as interrupted on interrupted.started_at = seen.as_of
where interrupted.started_at is null or interrupted.reported_at < current_run.as_of
having max(seen.as_of) is not null
order by 1;
