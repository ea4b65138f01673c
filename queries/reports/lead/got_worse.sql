-- grain: one row per target, rule, severity and kind of change: findings that are open now and got worse since the previous run
-- title: What got worse
-- about: Findings that are new, came back or became more severe since the previous run. Those of a rule that was assessed for the first time are not listed.
-- empty: Nothing got worse since the previous run.
-- labels: change=Change; findings=Findings; subjects=Subjects; rule=Rule
-- hidden: subject_type, subject_id
-- subjects: title=$subject_type:subject_id
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
      finding_id,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
      arg_min(reason, changed_at) as first_reason,
      arg_max(state, changed_at) filter (changed_at <= previous_run.as_of) as state_before,
      arg_max(severity, changed_at) filter (changed_at <= previous_run.as_of) as severity_before,
    from finding_events as events
    join previous_run on previous_run.as_of is not null
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
    group by finding_id
    having max(changed_at) > any_value(previous_run.as_of)
  ),
  worse as (
    select
      finding_id,
      severity,
      case
        when state_before is null then 'new'
        when state_before = 'resolved' then 'reopened'
        when state_before = 'accepted' then 'no longer accepted'
        else 'was ' || severity_before
      end as change,
    from states
    where
      state in ('new', 'open')
      and (
        (state_before is null and first_reason <> 'baseline')
        or state_before in ('resolved', 'accepted')
        or list_position(['info', 'warning', 'critical'], severity) > list_position(['info', 'warning', 'critical'], severity_before)
      )
  )
select
  findings.target,
  worse.severity,
  case when count(*) = 1 then any_value(findings.title) else format('{} × {}', count(*), replace(findings.rule, '-', ' ')) end as title,
  worse.change,
  count(*) as findings,
  list_sort(list_distinct(list(coalesce(subject_name, subject_id))))[:8] as subjects,
  greatest(count(distinct coalesce(subject_name, subject_id)) - 8, 0) as more_subjects,
  findings.rule,
  if(count(*) = 1, any_value(findings.subject_type), null) as subject_type,
  if(count(*) = 1, any_value(findings.subject_id), null) as subject_id,
from worse
join findings using (finding_id)
group by findings.target, findings.rule, worse.severity, worse.change
order by
  list_position(['critical', 'warning', 'info'], worse.severity),
  count(*) desc,
  findings.rule,
  worse.change,
  findings.target;
