-- grain: one row per action of an approved plan, as the ledger tells it last
create table if not exists actions (
  target varchar not null, -- name of the target in tidemark.yaml
  plan_id varchar not null, -- plan that it belongs to
  action_id varchar not null, -- its ID in the plan
  playbook varchar not null, -- playbook that planned it
  operation varchar not null, -- operation that was to be called
  params json, -- parameters of the call
  finding_id varchar not null, -- finding that it answers; the first of them where it answers several
  status varchar not null, -- `applied`, `skipped`, `failed` or `unconfirmed`
  reason varchar, -- why it is not simply applied
  approved_by varchar, -- who approved the plan
  started_at timestamptz not null, -- when it was begun
  finished_at timestamptz, -- when its outcome was written; null where none was
  before json, -- what was read just before
  after json -- what was read just after
);
