-- deadline: Plans that nobody has applied.
-- grain: one row per plan and target, until the plan ends
-- parameters: $as_of
-- Whether the approvals are enough depends on the configuration: `playbook show` says it.
select
  unnest(string_split(target, ', ')) as target,
  'plan' as kind,
  plan_id as subject_id,
  playbook as subject_name,
  expires_at as ends_at,
  format(
    '{} {}{}: tidemark playbook show {}',
    if(approved_by is null, 'approve and apply', 'apply'),
    if(actions = 1, '1 action', actions || ' actions'),
    coalesce(', approved so far by ' || approved_by, ''),
    plan_id
  ) as what_to_do,
from plans
anti join (select distinct plan_id from actions) as begun using (plan_id)
where seen_at <= $as_of::timestamptz and expires_at > $as_of::timestamptz;
