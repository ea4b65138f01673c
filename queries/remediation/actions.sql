-- grain: one line of the ledger per action, in the order in which they were started
-- Rows of 0.1.0 have no line, and do not tell what the service answered: what is unconfirmed counts as accepted, so that it is not sent
-- again.
with
  shared as (
    select
      *,
      json_object(
        'plan_id', plan_id,
        'action_id', action_id,
        'playbook', playbook,
        'operation', operation,
        'target', target,
        'params', params,
        'finding_id', finding_id,
        'reason', if(finished_at is null, null, reason),
        'approved_by', coalesce(approved_by, ''),
        'started_at', strftime(started_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
        'before', before,
        'after', after
      ) as fields,
      if(
        finished_at is null,
        '{"event": "intent"}'::json,
        json_object(
          'event', 'outcome',
          'status', status,
          'finished_at', strftime(finished_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'),
          'satisfied', status = 'applied' or coalesce(starts_with(reason, 'no change needed'), false),
          'answer', if(status = 'unconfirmed', 'accepted', null)
        )
      ) as outcome,
    from actions
  )
select coalesce(entry, json_merge_patch(fields, outcome))::varchar as entry -- as text, a number keeps all its digits
from shared
order by started_at, plan_id, action_id;
