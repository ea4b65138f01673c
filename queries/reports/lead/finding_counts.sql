-- grain: one row
-- title: Findings
-- about: The open findings of this report and their change since the previous run.
-- `open_findings` = `open_before` + `first_assessed` + `appeared` + `returned` − `resolved` − `left_out` − `newly_accepted`
with
  seen as (select distinct as_of from pulls where as_of <= $as_of::timestamptz),
  current_run as (select max(as_of) as as_of from seen),
  previous_run as (
    select max(seen.as_of) as as_of
    from seen
    join current_run on seen.as_of < current_run.as_of
    left join interrupted_runs as interrupted on interrupted.started_at = seen.as_of
    where interrupted.started_at is null or interrupted.reported_at < current_run.as_of
  ),
  states as (
    select
      arg_max(state, changed_at) in ('new', 'open') as is_open,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
      min(changed_at) as found_at,
      arg_min(reason, changed_at) as first_reason,
      arg_max(reason, changed_at) = 'left out' as is_left_out,
      arg_max(state, changed_at) filter (changed_at <= previous_run.as_of) in ('new', 'open') as was_open,
      bool_or(changed_at <= previous_run.as_of) as was_known,
    from finding_events as events
    cross join previous_run
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
    group by finding_id
  ),
  evaluations as (
    select count(*) > 0 as assessed, max(last_assessed_at) as assessed_at
    from rule_evaluations as evaluations
    where
      first_assessed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [evaluations.rule, 'all'])
  ),
  gaps as (
    select count(*) as unassessed
    from unassessed_rules as gaps
    where
      since <= $as_of::timestamptz
      and coalesce(ended_at > $as_of::timestamptz, true)
      and list_has_any(from_json($rules, '["VARCHAR"]'), [gaps.rule, 'all'])
  ),
  counted as (
    select
      count(*) filter (is_open) as open_findings,
      count(*) filter (is_open and severity = 'critical') as critical,
      count(*) filter (is_open and severity = 'warning') as warning,
      count(*) filter (is_open and severity = 'info') as info,
      count(*) filter (state = 'accepted') as accepted,
      count(*) filter (was_open) as open_before,
      count(*) filter (is_open and was_known is not true and first_reason = 'baseline') as first_assessed,
      count(*) filter (is_open and was_known is not true and first_reason <> 'baseline') as appeared,
      count(*) filter (is_open and was_known and was_open is not true) as returned,
      count(*) filter (was_open and state = 'resolved' and not is_left_out) as resolved,
      count(*) filter (was_open and state = 'resolved' and is_left_out) as left_out,
      count(*) filter (was_open and state = 'accepted') as newly_accepted,
      min(found_at) filter (is_open and severity = 'critical') as oldest_critical_at,
    from states
  )
select
  counted.*,
  unassessed,
  assessed,
  previous_run.as_of as compared_with,
  case
    when critical > 0 then 'critical'
    when warning > 0 then 'warning'
    -- a pull that no evaluation followed says nothing about its subjects
    when not assessed or unassessed > 0 or assessed_at < current_run.as_of then 'unknown'
    else 'ok'
  end as state,
  case
    when previous_run.as_of is not null and assessed
      then format('{} open = {} before', open_findings, open_before)
      || case when first_assessed > 0 then format(' + {} assessed for the first time', first_assessed) else '' end
      || format(' + {} new', appeared)
      || case when returned > 0 then format(' + {} returned', returned) else '' end
      || format(' − {} resolved', resolved)
      || case when left_out > 0 then format(' − {} no longer watched', left_out) else '' end
      || case when newly_accepted > 0 then format(' − {} accepted', newly_accepted) else '' end
  end as equation,
from counted, evaluations, gaps, previous_run, current_run;
