-- title: How long drift lasts, by project
-- description: Finished and current periods of drift. A period ends with the first pull that assessed no drift, or with the workspace.
-- param: since timestamp = now() - interval 90 days - only periods that ended later, or have not ended
with marked as (
  select
    target,
    external_id,
    project_name,
    is_drifting,
    valid_from,
    valid_to,
    sum(if(is_drifting is not true or began, 1, 0)) over (partition by target, external_id order by valid_from) as period
  from workspace_assessments
),
periods as (
  select
    target,
    external_id,
    arg_max_null(project_name, valid_from) as project_name,
    min(valid_from) as began_at,
    if(bool_or(valid_to is null), null, max(valid_to)) as ended_at
  from marked
  where is_drifting
  group by target, external_id, period
)
select
  target,
  project_name,
  count(*) as periods,
  count(*) filter (where ended_at is null) as current_periods,
  round(median(date_diff('hour', began_at, coalesce(ended_at, (select max(as_of) from pulls)))) / 24, 1) as median_days,
  round(max(date_diff('hour', began_at, coalesce(ended_at, (select max(as_of) from pulls)))) / 24, 1) as longest_days
from periods
where ended_at is null or ended_at >= $since::timestamptz
group by target, project_name
order by longest_days desc, target, project_name;
