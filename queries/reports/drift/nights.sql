-- grain: one row per day with a complete pull, over the last year
-- title: The nights
-- limit: 100
-- The numbers come from the changes alone: each version of a workspace counts from its valid_from until its valid_to.
with
  nights as (
    select max(as_of) as night
    from pulls
    where
      source = 'workspaces'
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  first_pulls as (
    select target, min(as_of) as first_as_of
    from pulls
    where source = 'workspaces' and status = 'complete'
    group by target
  ),
  versions as (
    select
      target,
      drifted,
      resources_drifted,
      valid_from,
      valid_to,
      case
        when lag(valid_to) over following = valid_from then lag(drifted) over following
      end as was_drifted,
    from workspaces_history
    where valid_from <= $as_of::timestamptz
    window following as (partition by target, external_id order by valid_from)
  ),
  changes as (
    select valid_from as moment, 1 as sign, drifted, resources_drifted from versions
    union all
    select valid_to, -1, drifted, resources_drifted from versions where valid_to <= $as_of::timestamptz
  ),
  standing as (
    select
      moment,
      sum(sum(sign)) over (order by moment) as workspaces,
      sum(coalesce(sum(sign) filter (drifted), 0)) over (order by moment) as drifted,
      sum(coalesce(sum(sign) filter (drifted is null), 0)) over (order by moment) as not_assessed,
      sum(coalesce(sum(sign * resources_drifted), 0)) over (order by moment) as resources_drifted,
    from changes
    group by moment
  ),
  turned as (
    select
      date_trunc('day', valid_from) as day,
      count(*) filter (drifted and was_drifted is distinct from true and valid_from > first_as_of) as newly_drifted,
      count(*) filter (not drifted and was_drifted) as resolved,
    from versions
    join first_pulls using (target)
    group by day
  )
select
  nights.night,
  standing.workspaces,
  standing.drifted,
  standing.not_assessed,
  standing.resources_drifted,
  coalesce(turned.newly_drifted, 0) as newly_drifted,
  coalesce(turned.resolved, 0) as resolved,
from nights
asof join standing on nights.night >= standing.moment
left join turned on turned.day = date_trunc('day', nights.night)
order by nights.night desc;
