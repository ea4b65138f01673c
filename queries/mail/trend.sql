-- grain: one row per UTC day: the last complete pull of workspaces of each of the last $days days up to $as_of
-- parameters: $as_of; $days
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      source = 'workspaces'
      and status = 'complete'
      and as_of <= $as_of::timestamptz
      and target in (select target from mail_routes)
    group by date_trunc('day', as_of)
    order by pulled_at desc
    limit $days
  ),
  versions as (
    select drifted, checks_failed, valid_from, valid_to
    from workspaces_history as version
    where
      (drifted or checks_failed > 0)
      and (valid_to is null or valid_to > (select min(pulled_at) from days))
      and exists (
        from mail_routes as routes
        where
          routes.target = version.target
          and (routes.project is null or version.project_name glob routes.project or version.project_external_id glob routes.project)
      )
  )
select
  pulled_at as as_of,
  count(*) filter (where versions.drifted) as drifting,
  count(*) filter (where versions.checks_failed > 0) as failing,
from days
left join versions
  on versions.valid_from <= days.pulled_at
  and (versions.valid_to is null or versions.valid_to > days.pulled_at)
group by pulled_at
order by pulled_at;
