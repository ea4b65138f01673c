-- grain: one row per organization
-- title: Organizations
-- about: Each measure as of its last complete pull; `as of` is the oldest of them. The worst are first.
-- labels: target=Organization; night=As of; drifted=Drifting; not_assessed=Drift unknown; failing=Failing checks; errored=Errored checks; agents=Agents; live_agents=Live agents; critical=Critical; warning=Warnings; behind=Behind; stale=Stale
with
  nights as (select max(night) as newest from rollup_nights),
  last_nights as (select target, measure, max(night) as night from rollup_nights group by target, measure),
  behind as (
    select target, count(*) as workspaces
    from findings
    where rule = 'outdated-version' and state in ('new', 'open')
    group by target
  ),
  counts as (
    select
      rollup.target as target,
      min(last_nights.night) as night,
      coalesce(sum(case when rollup.measure = 'workspaces' then rollup.value end), 0) as workspaces,
      coalesce(sum(case when rollup.measure = 'workspaces_drifted' then rollup.value end), 0) as drifted,
      coalesce(sum(case when rollup.measure = 'workspaces_drift_unknown' then rollup.value end), 0) as not_assessed,
      coalesce(sum(case when rollup.measure = 'workspaces_checks_failed' then rollup.value end), 0) as failing,
      coalesce(sum(case when rollup.measure = 'workspaces_checks_errored' then rollup.value end), 0) as errored,
      coalesce(sum(case when rollup.measure = 'agents' then rollup.value end), 0) as agents,
      coalesce(sum(case when rollup.measure = 'agents_live' then rollup.value end), 0) as live_agents,
      coalesce(sum(case when rollup.measure = 'findings_critical' then rollup.value end), 0) as critical,
      coalesce(sum(case when rollup.measure = 'findings_warning' then rollup.value end), 0) as warning
    from rollup_nights rollup
    join last_nights
      on last_nights.target = rollup.target and last_nights.measure = rollup.measure and last_nights.night = rollup.night
    group by rollup.target
  )
select
  counts.target as target,
  counts.night as night,
  counts.critical as critical,
  counts.warning as warning,
  counts.workspaces as workspaces,
  counts.drifted as drifted,
  counts.not_assessed as not_assessed,
  counts.failing as failing,
  counts.errored as errored,
  coalesce(behind.workspaces, 0) as behind,
  counts.agents as agents,
  counts.live_agents as live_agents,
  case when counts.night < nights.newest then 'stale' else '' end as stale
from counts
cross join nights
left join behind on behind.target = counts.target
order by critical desc, warning desc, drifted desc, target;
