-- grain: one row per UTC day of the last $days days with a complete pull of workspaces up to $as_of, and each day between them: null where
-- nothing was assessed
-- parameters: $as_of; $days
with
  pulled as (
    select date_trunc('day', as_of) as day, max(as_of) as pulled_at
    from pulls
    where
      source = 'workspaces'
      and status = 'complete'
      and as_of <= $as_of::timestamptz
      and target in (select target from mail_routes)
    group by day
    order by day desc
    limit $days
  ),
  days as (
    select unnest(generate_series(min(day), greatest(max(day), date_trunc('day', $as_of::timestamptz)), interval 1 day)) as day
    from pulled
  ),
  known as (
    select
      coalesce(min(valid_from) filter (is_drifting is not null), 'infinity') as drifting_since,
      coalesce(min(valid_from) filter (is_failing is not null), 'infinity') as failing_since,
    from workspace_assessments
    where target in (select target from mail_routes)
  ),
  versions as (
    select is_drifting, is_failing, valid_from, valid_to
    from workspace_assessments as version
    where
      (is_drifting or is_failing)
      and exists (
        from mail_routes as routes
        where
          routes.target = version.target
          and (routes.project is null or version.project_name glob routes.project or version.project_external_id glob routes.project)
      )
  )
select
  days.day as as_of,
  if(pulled_at >= any_value(known.drifting_since), count(*) filter (where versions.is_drifting), null) as drifting,
  if(pulled_at >= any_value(known.failing_since), count(*) filter (where versions.is_failing), null) as failing,
from days
cross join known
left join pulled using (day)
left join versions
  on versions.valid_from <= pulled.pulled_at
  and (versions.valid_to is null or versions.valid_to > pulled.pulled_at)
group by days.day, pulled_at
order by days.day;
