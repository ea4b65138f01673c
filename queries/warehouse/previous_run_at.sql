-- grain: one row: the last two runs at a time: current_as_of, and previous_as_of of the last one before it whose changes were reported
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro previous_run_at(at_time) as table
with
  seen as (select distinct as_of from pulls where as_of <= at_time::timestamptz),
  current_run as (select max(as_of) as current_as_of from seen)
select any_value(current_as_of) as current_as_of, max(seen.as_of) as previous_as_of
from current_run
left join seen on seen.as_of < current_run.current_as_of
left join interrupted_runs as interrupted on interrupted.started_at = seen.as_of
where seen.as_of is null or interrupted.started_at is null or interrupted.reported_at < current_run.current_as_of;
