-- grain: one row per target, rule and severity, in which the first 50 findings are listed; a critical finding has its own row where its rule has five or fewer
-- title: Open findings
-- about: By severity, then age. A row combines the findings of a rule; open it for their names. A finding that cannot be assessed now stays open.
-- empty: No finding is open.
-- labels: title=Finding; findings=Findings; subjects=Subjects; newly=New; unassessed=Not assessed now; since=Since; rule=Rule
-- details: title=who
-- subjects: title=$subject_type:subject_id
-- hidden: who, subject_type, subject_id
with
  states as (
    select
      finding_id,
      rule,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
    from finding_events as events
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
    group by finding_id, rule
  ),
  current_findings as (
    select
      findings.* exclude (state, severity),
      coalesce(subject_name, subject_id) as subject,
      coalesce(opened_at, first_seen) as since,
      states.state,
      states.severity,
      states.severity = 'critical' and count(*) over (partition by target, findings.rule, states.severity) <= 5 as is_single,
    from findings
    join states using (finding_id)
    where states.state in ('new', 'open')
  )
select
  target,
  severity,
  case
    when count(*) = 1 then any_value(title)
    when count(distinct group_key) between 1 and 2 and count(group_key) = count(*)
      then format('{} × {}: {}', count(*), replace(rule, '-', ' '), string_agg(distinct group_key, ' and ' order by group_key))
    else format('{} × {}', count(*), replace(rule, '-', ' '))
  end as title,
  count(*) as findings,
  count(distinct subject) as subjects,
  count(*) filter (state = 'new') as newly,
  count(*) filter (unassessed_since <= $as_of::timestamptz) as unassessed,
  min(since) as since,
  case
    when count(*) = 1 then []
    else list(title order by since, title, finding_id)[:50]
    || if(count(*) > 50, [format('and {} more: tidemark findings --rule {}', count(*) - 50, rule)], [])
  end as who,
  rule,
  if(count(*) = 1, any_value(subject_type), null) as subject_type,
  if(count(*) = 1, any_value(subject_id), null) as subject_id,
from current_findings
group by target, rule, severity, if(is_single, finding_id, null)
order by
  list_position(['critical', 'warning', 'info'], severity),
  min(since),
  count(*) desc,
  rule,
  target,
  min(finding_id);
