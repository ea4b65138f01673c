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
      checks_failed,
      checks_errored,
      checks_unknown,
      valid_from,
      valid_to,
      case
        when lag(valid_to) over following = valid_from then lag(checks_failed) over following
      end as failed_before,
    from workspaces_history
    where valid_from <= $as_of::timestamptz
    window following as (partition by target, external_id order by valid_from)
  ),
  changes as (
    select valid_from as changed_at, 1 as sign, checks_failed, checks_errored, checks_unknown from versions
    union all
    select valid_to, -1, checks_failed, checks_errored, checks_unknown from versions
    where valid_to <= $as_of::timestamptz
  ),
  totals as (
    select
      changed_at,
      sum(coalesce(sum(sign) filter (checks_failed > 0), 0)) over (order by changed_at) as failing,
      sum(coalesce(sum(sign) filter (checks_errored > 0), 0)) over (order by changed_at) as errored,
      sum(coalesce(sum(sign) filter (checks_unknown > 0), 0)) over (order by changed_at) as not_assessed,
      sum(coalesce(sum(sign * checks_failed), 0)) over (order by changed_at) as checks_failed,
    from changes
    group by changed_at
  ),
  transitions as (
    select
      date_trunc('day', valid_from) as day,
      count(*) filter (
        checks_failed > 0 and (failed_before > 0) is distinct from true and valid_from > first_as_of
      ) as newly_failing,
      count(*) filter (checks_failed = 0 and failed_before > 0) as resolved,
    from versions
    join first_pulls using (target)
    group by day
  )
select
  days.pulled_at as as_of,
  totals.failing,
  totals.errored,
  totals.not_assessed,
  totals.checks_failed,
  coalesce(transitions.newly_failing, 0) as newly_failing,
  coalesce(transitions.resolved, 0) as resolved,
from days
asof join totals on days.pulled_at >= totals.changed_at
left join transitions on transitions.day = date_trunc('day', days.pulled_at)
order by as_of desc;
