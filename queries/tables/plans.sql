-- grain: one row per plan of a playbook, as the last run before its end found it
-- identity: plan_id
create table if not exists plans (
  plan_id varchar not null, -- ID of the plan
  target varchar, -- targets of its actions, comma-separated
  playbook varchar not null, -- playbook that planned it
  actions bigint not null, -- number of its actions
  approved_by varchar, -- whose approvals count, comma-separated; null while nobody's does
  expires_at timestamptz not null, -- until when it can be approved and applied
  seen_at timestamptz not null -- `as_of` of the first run that found it
);
