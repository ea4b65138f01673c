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
    select valid_from as moment, 1 as sign, checks_failed, checks_errored, checks_unknown from versions
    union all
    select valid_to, -1, checks_failed, checks_errored, checks_unknown from versions
    where valid_to <= $as_of::timestamptz
  ),
  standing as (
    select
      moment,
      sum(coalesce(sum(sign) filter (checks_failed > 0), 0)) over (order by moment) as failing,
      sum(coalesce(sum(sign) filter (checks_errored > 0), 0)) over (order by moment) as errored,
      sum(coalesce(sum(sign) filter (checks_unknown > 0), 0)) over (order by moment) as not_assessed,
      sum(coalesce(sum(sign * checks_failed), 0)) over (order by moment) as checks_failed,
    from changes
    group by moment
  ),
  turned as (
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
  nights.night,
  standing.failing,
  standing.errored,
  standing.not_assessed,
  standing.checks_failed,
  coalesce(turned.newly_failing, 0) as newly_failing,
  coalesce(turned.resolved, 0) as resolved,
from nights
asof join standing on nights.night >= standing.moment
left join turned on turned.day = date_trunc('day', nights.night)
order by nights.night desc;
