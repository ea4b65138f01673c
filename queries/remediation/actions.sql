-- grain: one row per action of the ledger, in the order in which they were started
select
  plan_id,
  action_id,
  playbook,
  operation,
  target,
  params,
  finding_id,
  status,
  reason,
  coalesce(approved_by, '') as approved_by,
  strftime(started_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') as started_at,
  strftime(finished_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') as finished_at,
  before,
  after,
from actions
order by started_at, plan_id, action_id;
