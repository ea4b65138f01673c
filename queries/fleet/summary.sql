-- grain: one row
-- title: Fleet
-- about: All targets of the lake that the configuration has, each measure as of its last complete pull. A target is stale if one of them is not of the newest night; an organization is a target with workspaces or agents.
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
  targets as (
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
      sum(case when measure = 'findings_info' then value end) as info,
      sum(case when measure = 'rules_unassessed' then value end) as rules_not_assessed
    from entries
    where place = 1
    group by target
  ),
  compared as (
    select *, max(newest) over () as fleet_newest
    from targets
  )
select
  max(fleet_newest) as night,
  count(case when is_organization = 1 then 1 end) as organizations,
  count(case when is_organization = 0 then 1 end) as services,
  count(case when oldest < fleet_newest then 1 end) as stale_targets,
  (select count(distinct target) from source_state where status not in ('complete', 'unsupported')) as incomplete_targets,
  sum(workspaces) as workspaces,
  sum(drifted) as drifted,
  sum(not_assessed) as not_assessed,
  sum(failing) as failing,
  sum(errored) as errored,
  sum(agents) as agents,
  sum(live_agents) as live_agents,
  sum(critical) as critical,
  sum(warning) as warning,
  sum(info) as info,
  sum(rules_not_assessed) as rules_not_assessed,
  -- As for an organization, where one lacks it. `compared.`: ClickHouse takes a bare name for the sum that has it.
  case
    when count(case when is_organization = 1 and (compared.critical is null or compared.workspaces is null) then 1 end) = 0
      then (select count(*) from findings where rule = 'outdated-version' and state in ('new', 'open'))
    else (select nullif(count(*), 0) from findings where rule = 'outdated-version' and state in ('new', 'open'))
  end as workspaces_behind
from compared;
