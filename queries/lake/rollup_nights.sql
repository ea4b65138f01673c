-- grain: one row per target, project, night and measure
-- key: project, night, measure
-- by_target: yes
--  target varchar, -- name of the target
--  project varchar, -- project; null for a measure of the whole target
--  night date, -- day of the run, in UTC
--  measure varchar, -- what is measured
--  value double, -- its value after the run
-- Each complete pull after a time has rows, unless states of its time were removed. A target whose pull is not complete has no row for that
-- night: its measures are not known. Nor is a measure that no workspace reports.
create or replace temp table lake_pending as
with
  pulled as (
    select distinct target, source, as_of
    from pulls
    where status = 'complete' and as_of > {{after}} and as_of >= {{wholeSince}}
  ),
  workspace_nights as (
    select
      pulled.target,
      version.project_name as project,
      pulled.as_of,
      unnest([
        {measure: 'workspaces', value: count(*)},
        {measure: 'workspaces_drifted', value: if(count(known_drift(version.drifted, version.resources_drifted)) = 0, null, count(*) filter (version.drifted))},
        {measure: 'workspaces_drift_unknown', value: count(*) filter (known_drift(version.drifted, version.resources_drifted) is null)},
        {measure: 'workspaces_checks_failed', value: if(count(known_failing(version.checks_failed, version.checks_unknown)) = 0, null, count(*) filter (version.checks_failed > 0))},
        {measure: 'workspaces_checks_errored', value: if(count(known_failing(version.checks_errored, version.checks_unknown)) = 0, null, count(*) filter (version.checks_errored > 0))},
        {measure: 'resources', value: sum(version.current_rum_count)},
        {measure: 'resources_drifted', value: sum(version.resources_drifted) filter (known_drift(version.drifted, version.resources_drifted) is not null)}
      ]) as entry
    from pulled
    join workspaces_history as version
      on version.target = pulled.target
      and version.valid_from <= pulled.as_of
      and (version.valid_to is null or version.valid_to > pulled.as_of)
    where pulled.source = 'workspaces'
    group by all
  ),
  agent_nights as (
    select
      pulled.target,
      null as project,
      pulled.as_of,
      unnest([
        {measure: 'agents', value: count(version.agent_id)},
        {measure: 'agents_live', value: count(*) filter (version.status in ('idle', 'busy'))}
      ]) as entry
    from pulled
    left join agents_history as version
      on version.target = pulled.target
      and version.valid_from <= pulled.as_of
      and (version.valid_to is null or version.valid_to > pulled.as_of)
    where pulled.source = 'agents'
    group by all
  ),
  states as (
    select
      target,
      state,
      severity,
      changed_at,
      lead(changed_at, 1, 'infinity'::timestamptz) over (partition by finding_id order by changed_at) as ended_at
    from finding_events
  ),
  target_nights as (
    select distinct target, as_of
    from pulled
  ),
  finding_nights as (
    select
      nights.target,
      null as project,
      nights.as_of,
      unnest([
        {measure: 'findings_critical', value: count(*) filter (states.severity = 'critical')},
        {measure: 'findings_warning', value: count(*) filter (states.severity = 'warning')},
        {measure: 'findings_info', value: count(*) filter (states.severity = 'info')}
      ]) as entry
    from target_nights as nights
    left join states
      on states.target = nights.target
      and states.state in ('new', 'open')
      and states.changed_at <= nights.as_of
      and states.ended_at > nights.as_of
    -- Before the first assessment, the number of findings is not known.
    where exists (
      from rule_evaluations
      where rule_evaluations.target = nights.target and rule_evaluations.first_assessed_at <= nights.as_of
    )
    group by all
  ),
  unassessed_nights as (
    select
      nights.target,
      null as project,
      nights.as_of,
      {measure: 'rules_unassessed', value: count(unassessed.rule)} as entry
    from target_nights as nights
    left join unassessed_rules as unassessed
      on unassessed.target = nights.target
      and unassessed.since <= nights.as_of
      and coalesce(unassessed.ended_at > nights.as_of, true)
    where exists (
      from rule_evaluations
      where rule_evaluations.target = nights.target and rule_evaluations.first_assessed_at <= nights.as_of
    )
    or unassessed.rule is not null
    group by all
  ),
  measured as (
    from workspace_nights
    union all by name
    from agent_nights
    union all by name
    from finding_nights
    union all by name
    from unassessed_nights
  )
select 'insert' as op, as_of, {{values}}
from (
  select
    target,
    project,
    timezone('UTC', as_of)::date as night,
    entry.measure as measure,
    entry.value::double as value,
    as_of,
  from measured
  where entry.value is not null
);
