-- grain: one row per rule, target and cause: findings with the same cause form one row
-- title: Top findings
-- about: By severity, then number of subjects, then age. "Subjects" is the number of findings with the same cause.
-- empty: No finding is open.
-- limit: 30
-- labels: severity=Severity; title=Finding; subjects=Subjects; state=State; since=Since; rule=Rule
-- hidden: group_key
with
  state_then as (
    select
      finding_id,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
    from finding_events
    where changed_at <= $as_of::timestamptz
    group by finding_id
  ),
  current_findings as (
    select
      findings.* exclude (state, severity),
      state_then.state,
      list_position(['critical', 'warning', 'info'], state_then.severity) as place,
    from findings
    join state_then using (finding_id)
    where state_then.state in ('new', 'open')
  )
select
  target,
  ['critical', 'warning', 'info'][min(place)] as severity,
  case when count(*) = 1 then any_value(title) else format('{} ({})', coalesce(group_key, rule), rule) end as title,
  count(*) as subjects,
  case when bool_or(state = 'new') then 'new' else 'open' end as state,
  min(coalesce(opened_at, first_seen)) as since,
  array_to_string(list(coalesce(subject_name, subject_id) order by subject_name, subject_id)[:3], ', ')
  || case when count(*) > 3 then format(' and {} more', count(*) - 3) else '' end as who,
  rule,
  group_key,
from current_findings
group by target, rule, coalesce(group_key, finding_id), group_key
order by
  min(place),
  subjects desc,
  since,
  rule,
  target,
  title;
