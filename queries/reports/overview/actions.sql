-- grain: one row per action of an approved plan started within the last 30 days
-- title: Actions of playbooks
-- about: Actions of the last 30 days, the latest first.
-- empty: No action.
-- labels: started_at=When; playbook=Playbook; subject_name=Subject; operation=Operation; status=Outcome; reason=Why; approved_by=Approved by
-- subjects: subject_name=$subject_type:subject_id
-- hidden: plan_id, action_id, finding_id, subject_type, subject_id
select
  actions.target,
  actions.started_at,
  actions.playbook,
  coalesce(findings.subject_name, findings.subject_id) as subject_name,
  actions.operation,
  actions.status,
  actions.reason,
  actions.approved_by,
  actions.plan_id,
  actions.action_id,
  actions.finding_id,
  findings.subject_type,
  findings.subject_id,
from actions
left join findings using (finding_id)
where
  actions.started_at <= $as_of::timestamptz
  and actions.started_at > $as_of::timestamptz - interval 30 days
order by actions.started_at desc, actions.playbook, actions.action_id;
