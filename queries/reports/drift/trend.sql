-- grain: one row per day with a complete pull, over the last year
-- title: Trend
-- Sums up changes: each version of a workspace counts from its valid_from until its valid_to.
with
  days as (
    select max(as_of) as pulled_at
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
    select valid_from as changed_at, 1 as sign, drifted, resources_drifted from versions
    union all
    select valid_to, -1, drifted, resources_drifted from versions where valid_to <= $as_of::timestamptz
  ),
  totals as (
    select
      changed_at,
      sum(sum(sign)) over (order by changed_at) as workspaces,
      sum(coalesce(sum(sign) filter (drifted), 0)) over (order by changed_at) as drifted,
      sum(coalesce(sum(sign) filter (drifted is null), 0)) over (order by changed_at) as not_assessed,
      sum(coalesce(sum(sign * resources_drifted), 0)) over (order by changed_at) as resources_drifted,
    from changes
    group by changed_at
  ),
  transitions as (
    select
      date_trunc('day', valid_from) as day,
      count(*) filter (drifted and was_drifted is distinct from true and valid_from > first_as_of) as newly_drifted,
      count(*) filter (not drifted and was_drifted) as resolved,
    from versions
    join first_pulls using (target)
    group by day
  )
select
  days.pulled_at as as_of,
  totals.workspaces,
  totals.drifted,
  totals.not_assessed,
  totals.resources_drifted,
  coalesce(transitions.newly_drifted, 0) as newly_drifted,
  coalesce(transitions.resolved, 0) as resolved,
from days
asof join totals on days.pulled_at >= totals.changed_at
left join transitions on transitions.day = date_trunc('day', days.pulled_at)
order by as_of desc;
