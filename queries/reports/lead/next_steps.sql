-- grain: one row per rule with open critical findings or warnings, or with a playbook, and playbook
-- title: What to do
-- about: A plan only reads; it is applied after its approval. Rules without a playbook need a person: the command lists their findings.
-- empty: Nothing to do.
-- labels: command=Command; findings=Findings; what=What it does; can_be_undone=Can be undone; rule=Rule; since=Since
with
  playbooks as (
    select unnest(from_json(
      $playbooks,
      '[{"playbook": "VARCHAR", "rule": "VARCHAR", "about": "VARCHAR", "reversible": "BOOLEAN"}]'
    ), recursive := true)
  ),
  states as (
    select
      rule,
      arg_max(state, changed_at) as state,
      list_position(['critical', 'warning', 'info'], arg_max(severity, changed_at)) as place,
      min(changed_at) as found_at,
    from finding_events as events
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
    group by finding_id, rule
  ),
  open_rules as (
    select rule, min(place) as place, count(*) as findings, min(found_at) as since
    from states
    where state in ('new', 'open')
    group by rule
  )
select
  ['critical', 'warning', 'info'][place] as severity,
  case
    when playbook is null then 'tidemark findings --rule ' || rule
    else 'tidemark playbook plan ' || playbook
  end as command,
  findings,
  -- a cell has no markup: names of settings are in backticks
  coalesce(replace(playbooks.about, '`', ''), 'list the findings; no playbook acts on them') as what,
  playbooks.reversible as can_be_undone,
  since,
  rule,
from open_rules
left join playbooks using (rule)
where place < 3 or playbook is not null
order by place, (playbook is null), findings desc, rule, playbook;
