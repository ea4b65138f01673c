-- grain: one row per night, the last $nights up to $as_of: the last complete pull of workspaces of each UTC day
-- parameters: $as_of; $nights
with
  nights as (
    select max(as_of) as night
    from pulls
    where
      source = 'workspaces'
      and status = 'complete'
      and as_of <= $as_of::timestamptz
      and target in (select target from mail_routes)
    group by date_trunc('day', as_of)
    order by night desc
    limit $nights
  ),
  versions as (
    select drifted, checks_failed, valid_from, valid_to
    from workspaces_history as version
    where
      (drifted or checks_failed > 0)
      and (valid_to is null or valid_to > (select min(night) from nights))
      and exists (
        from mail_routes as routes
        where
          routes.target = version.target
          and (routes.project is null or version.project_name glob routes.project or version.project_external_id glob routes.project)
      )
  )
select
  night,
  count(*) filter (where versions.drifted) as drifting,
  count(*) filter (where versions.checks_failed > 0) as failing,
from nights
left join versions
  on versions.valid_from <= nights.night
  and (versions.valid_to is null or versions.valid_to > nights.night)
group by night
order by night;
