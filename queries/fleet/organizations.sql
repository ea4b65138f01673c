-- grain: one row per organization
-- title: Organizations
-- about: Each measure as of its last complete pull; `as of` is the oldest of them. The worst are first.
-- labels: organization=Organization; night=As of; drifted=Drifting; not_assessed=Drift unknown; failing=Failing checks; errored=Errored checks; agents=Agents; live_agents=Live agents; critical=Critical; warning=Warnings; behind=Behind; stale=Stale
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
      entry.target as target,
      min(last_nights.night) as night,
      sum(case when entry.measure = 'workspaces' then entry.value end) as workspaces,
      sum(case when entry.measure = 'workspaces_drifted' then entry.value end) as drifted,
      sum(case when entry.measure = 'workspaces_drift_unknown' then entry.value end) as not_assessed,
      sum(case when entry.measure = 'workspaces_checks_failed' then entry.value end) as failing,
      sum(case when entry.measure = 'workspaces_checks_errored' then entry.value end) as errored,
      sum(case when entry.measure = 'agents' then entry.value end) as agents,
      sum(case when entry.measure = 'agents_live' then entry.value end) as live_agents,
      sum(case when entry.measure = 'findings_critical' then entry.value end) as critical,
      sum(case when entry.measure = 'findings_warning' then entry.value end) as warning
    from rollup_nights entry
    join last_nights
      on last_nights.target = entry.target and last_nights.measure = entry.measure and last_nights.night = entry.night
    group by entry.target
  )
select
  counts.target as organization,
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
order by coalesce(counts.critical, 0) desc, coalesce(counts.warning, 0) desc, coalesce(counts.drifted, 0) desc, counts.target;
