-- grain: one row per organization and measure that got worse since the last night at least a week before its newest one
-- title: Worst movers
-- about: Drift, failing checks and critical findings now, compared with a week before. An organization without a night a week before is not listed.
-- empty: Nothing got worse within a week.
-- labels: organization=Organization; measure=Measure; night=As of; compared_with=Compared with; value_before=Before; value_now=Now; increase=Increase
-- limit: 100
with
  measured as (
    select target, night, measure, sum(value) as value
    from rollup_nights
    where measure in ('workspaces_drifted', 'workspaces_checks_failed', 'findings_critical')
    group by target, night, measure
  ),
  last_nights as (select target, measure, max(night) as night from measured group by target, measure),
  weeks as (
    select last_nights.target as target, last_nights.measure as measure, last_nights.night as night, max(measured.night) as before
    from last_nights
    join measured on measured.target = last_nights.target and measured.measure = last_nights.measure
    where measured.night <= last_nights.night - interval '7' day
    group by last_nights.target, last_nights.measure, last_nights.night
  )
select
  weeks.target as organization,
  weeks.measure as measure,
  weeks.night as night,
  weeks.before as compared_with,
  earlier.value as value_before,
  present.value as value_now,
  present.value - earlier.value as increase
from weeks
join measured present
  on present.target = weeks.target and present.measure = weeks.measure and present.night = weeks.night
join measured earlier
  on earlier.target = weeks.target and earlier.measure = weeks.measure and earlier.night = weeks.before
where present.value > earlier.value
order by increase desc, organization, measure;
