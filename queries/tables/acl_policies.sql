-- grain: one row per ACL policy of the scheduler
-- key: name
-- source: acl_policies
-- part: name
-- instance: create_index
-- renewed: modify_index, extra.Hash, extra.RulesJSON
-- acted: scheduler.policies policy_name
create table if not exists acl_policies_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the policy
  description varchar, -- description
  rules varchar, -- rules in HCL or JSON
  grants varchar[], -- what the rules grant beyond reading, such as `policy write`; null where they are not reported or not understood
  job_acl json, -- job, group or task that the policy is tied to
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
