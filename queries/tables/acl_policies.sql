-- grain: one row per ACL policy of the scheduler
-- key: name
-- source: acl_policies
create table if not exists acl_policies_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the policy
  description varchar, -- description
  rules varchar, -- rules in HCL or JSON
  job_acl json, -- job, group or task that the policy is tied to
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
