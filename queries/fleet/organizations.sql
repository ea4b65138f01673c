-- grain: one row per organization, which is a target with workspaces or agents
-- title: Organizations
-- about: Each measure as of its last complete pull; the time is that of the oldest. The worst are first.
-- labels: organization=Organization; state=State; night=As of; drifted=Drifting; not_assessed=Drift unknown; failing=Failing checks; errored=Errored checks; agents=Agents; live_agents=Live agents; critical=Critical; warning=Warnings; workspaces_behind=Behind; stale=Stale
with
  entries as (
    select
      target,
      measure,
      night,
      sum(value) as value,
      row_number() over (partition by target, measure order by night desc) as place
    from rollup_nights
    where target in (select target from source_state)
    group by target, measure, night
  ),
  counts as (
    select
      target,
      min(night) as oldest,
      max(night) as newest,
      max(case when measure in ('workspaces', 'agents') then 1 else 0 end) as is_organization,
      sum(case when measure = 'workspaces' then value end) as workspaces,
      sum(case when measure = 'workspaces_drifted' then value end) as drifted,
      sum(case when measure = 'workspaces_drift_unknown' then value end) as not_assessed,
      sum(case when measure = 'workspaces_checks_failed' then value end) as failing,
      sum(case when measure = 'workspaces_checks_errored' then value end) as errored,
      sum(case when measure = 'agents' then value end) as agents,
      sum(case when measure = 'agents_live' then value end) as live_agents,
      sum(case when measure = 'findings_critical' then value end) as critical,
      sum(case when measure = 'findings_warning' then value end) as warning,
      sum(case when measure = 'rules_unassessed' then value end) as rules_not_assessed
    from entries
    where place = 1
    group by target
  ),
  compared as (
    select *, max(newest) over () as fleet_newest
    from counts
  ),
  behind as (
    select target, count(*) as workspaces
    from findings
    where rule = 'outdated-version' and state in ('new', 'open')
    group by target
  )
select
  compared.target as organization,
  case
    when compared.critical > 0 then 'critical'
    when compared.warning > 0 then 'warning'
    when compared.critical is null or compared.drifted is null or compared.not_assessed > 0 or compared.rules_not_assessed > 0
      or compared.oldest < compared.fleet_newest
      then 'unknown'
    else 'ok'
  end as state,
  compared.oldest as night,
  compared.critical as critical,
  compared.warning as warning,
  compared.workspaces as workspaces,
  compared.drifted as drifted,
  compared.not_assessed as not_assessed,
  compared.failing as failing,
  compared.errored as errored,
  -- without workspaces, or before the first assessment, findings that are known count, and none is not 0
  case
    when compared.critical is null or compared.workspaces is null then nullif(coalesce(behind.workspaces, 0), 0)
    else coalesce(behind.workspaces, 0)
  end as workspaces_behind,
  compared.agents as agents,
  compared.live_agents as live_agents,
  case when compared.oldest < compared.fleet_newest then 'stale' else '' end as stale
from compared
left join behind on behind.target = compared.target
where compared.is_organization = 1
order by coalesce(compared.critical, 0) desc, coalesce(compared.warning, 0) desc, coalesce(compared.drifted, 0) desc, compared.target;
