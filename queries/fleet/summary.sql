-- grain: one row
-- title: Fleet
-- about: All organizations of the lake, each measure as of its last complete pull. An organization is stale if one of them is not of the newest night.
with
  nights as (select max(night) as newest from rollup_nights),
  last_nights as (select target, measure, max(night) as night from rollup_nights group by target, measure),
  organizations as (select target, min(night) as night from last_nights group by target),
  counts as (
    select rollup.target, rollup.measure, sum(rollup.value) as value
    from rollup_nights rollup
    join last_nights
      on last_nights.target = rollup.target and last_nights.measure = rollup.measure and last_nights.night = rollup.night
    group by rollup.target, rollup.measure
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
  coalesce(sum(case when measure = 'workspaces' then value end), 0) as workspaces,
  coalesce(sum(case when measure = 'workspaces_drifted' then value end), 0) as drifted,
  coalesce(sum(case when measure = 'workspaces_drift_unknown' then value end), 0) as not_assessed,
  coalesce(sum(case when measure = 'workspaces_checks_failed' then value end), 0) as failing,
  coalesce(sum(case when measure = 'workspaces_checks_errored' then value end), 0) as errored,
  coalesce(sum(case when measure = 'agents' then value end), 0) as agents,
  coalesce(sum(case when measure = 'agents_live' then value end), 0) as live_agents,
  coalesce(sum(case when measure = 'findings_critical' then value end), 0) as critical,
  coalesce(sum(case when measure = 'findings_warning' then value end), 0) as warning,
  coalesce(sum(case when measure = 'findings_info' then value end), 0) as info,
  coalesce(sum(case when measure = 'rules_unassessed' then value end), 0) as rules_not_assessed,
  (select workspaces from behind) as behind
from counts;
