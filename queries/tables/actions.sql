-- grain: one row per action of an approved plan, according to the latest ledger entry
-- identity: plan_id, action_id
-- logged_at: started_at
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
  entry json -- the ledger's line, from which `ledger --restore` writes it again; null in rows of 0.1.0
);
