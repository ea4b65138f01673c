-- grain: one row
-- title: Fleet
-- about: All organizations of the lake, each measure as of its last complete pull. An organization is stale if one of them is not of the newest night.
with
  nights as (select max(night) as newest from rollup_nights),
  last_nights as (select target, measure, max(night) as night from rollup_nights group by target, measure),
  organizations as (select target, min(night) as night from last_nights group by target),
  counts as (
    select entry.target, entry.measure, sum(entry.value) as value
    from rollup_nights entry
    join last_nights
      on last_nights.target = entry.target and last_nights.measure = entry.measure and last_nights.night = entry.night
    group by entry.target, entry.measure
  ),
  behind as (
    select count(*) as workspaces
    from findings
    where rule = 'outdated-version' and state in ('new', 'open')
  )
select
  (select newest from nights) as night,
  (select count(*) from organizations) as organizations,
  (select count(*) from organizations cross join nights where organizations.night < nights.newest) as stale_organizations,
  (select count(distinct target) from source_state where status <> 'complete') as incomplete_organizations,
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
  sum(case when measure = 'rules_unassessed' then value end) as rules_not_assessed,
  (select workspaces from behind) as behind
from counts;
