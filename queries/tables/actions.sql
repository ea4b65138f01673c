-- grain: one row per action of an approved plan, according to the latest ledger entry
-- identity: plan_id, action_id
-- filled_column: entry from json_merge_patch(json_object('plan_id', plan_id, 'action_id', action_id, 'playbook', playbook, 'operation', operation, 'target', target, 'params', params, 'finding_id', finding_id, 'reason', if(finished_at is null, null, reason), 'approved_by', coalesce(approved_by, ''), 'started_at', strftime(started_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'), 'before', before, 'after', after), if(finished_at is null, '{"event": "intent"}'::json, json_object('event', 'outcome', 'status', status, 'finished_at', strftime(finished_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ'), 'satisfied', status = 'applied' or coalesce(starts_with(reason, 'no change needed'), false), 'answer', if(status = 'unconfirmed', 'accepted', null))))
create table if not exists actions (
  target varchar not null, -- name of the target in tidemark.yaml
  plan_id varchar not null, -- plan that it belongs to
  action_id varchar not null, -- its ID in the plan
  playbook varchar not null, -- playbook that planned it
  operation varchar not null, -- operation of the action
  params json, -- parameters of the call
  finding_id varchar not null, -- finding that the action resolves; the first one if there are several
  status varchar not null, -- `applied`, `skipped`, `failed` or `unconfirmed`
  reason varchar, -- why it was not applied, or not without remarks
  approved_by varchar, -- who approved the plan
  started_at timestamptz not null, -- when it was started
  finished_at timestamptz, -- when its outcome was recorded; null without an outcome
  before json, -- state that was read just before the action
  after json, -- state that was read just after the action
  entry json -- the ledger's line, from which `ledger --restore` writes it again
);
