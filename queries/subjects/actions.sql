-- grain: one row per action on a subject that has a page, and its findings
-- parameters: $as_of
select
  findings.subject_type,
  findings.target,
  findings.subject_id,
  actions.started_at as happened_at,
  'action' as kind,
  format('Action {}: {}', actions.status, actions.operation) as title,
  concat('Playbook ', actions.playbook, ', approved by ' || actions.approved_by, ': ' || actions.reason) as note,
  strftime(actions.started_at, '%Y-%m-%d %H:%M') as at,
  actions.status,
  coalesce(actions.operation, '—') as operation,
  coalesce(actions.playbook, '—') as playbook,
  coalesce(actions.plan_id, '—') as plan,
  coalesce(actions.approved_by, '—') as approved_by,
  coalesce(actions.reason, '—') as reason,
from actions
join subject_findings as findings on findings.finding_id = actions.finding_id and findings.target = actions.target
semi join subject_pages as pages
  on
    pages.subject_type = findings.subject_type
    and pages.target = findings.target
    and pages.subject_id = findings.subject_id
where actions.started_at <= $as_of::timestamptz
order by actions.started_at desc, actions.plan_id, actions.action_id
