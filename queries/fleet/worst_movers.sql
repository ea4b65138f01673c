-- grain: one row per target and measure that got worse since the last night at least a week before its newest one
-- title: Worst movers
-- about: Drift, failing checks and critical findings now, compared with a week before. A target without a night a week before is not listed.
-- empty: Nothing got worse within a week.
-- labels: target=Target; measure=Measure; night=As of; compared_with=Compared with; value_before=Before; value_now=Now; increase=Increase
-- limit: 100
with
  measured as (
    select target, measure, night, sum(value) as value
    from rollup_nights
    where
      measure in ('workspaces_drifted', 'workspaces_checks_failed', 'findings_critical')
      and target in (select target from source_state)
    group by target, measure, night
  ),
  dated as (
    select target, measure, night, value, max(night) over (partition by target, measure) as newest
    from measured
  ),
  phases as (
    select
      target,
      measure,
      night,
      value,
      case when night = newest then 'now' when night <= newest - interval '7' day then 'before' else 'between' end as phase
    from dated
  ),
  places as (
    select target, measure, night, value, phase, row_number() over (partition by target, measure, phase order by night desc) as place
    from phases
  ),
  moves as (
    select
      target,
      measure,
      max(case when phase = 'now' then night end) as night_now,
      max(case when phase = 'before' then night end) as night_before,
      max(case when phase = 'before' then value end) as value_before,
      max(case when phase = 'now' then value end) as value_now
    from places
    where place = 1
    group by target, measure
  )
select
  target,
  measure,
  night_now as night,
  night_before as compared_with,
  value_before,
  value_now,
  value_now - value_before as increase
from moves
where value_now > value_before
order by increase desc, target, measure;
