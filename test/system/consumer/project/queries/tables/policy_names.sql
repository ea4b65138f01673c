-- grain: one row per ACL policy
-- key: name
-- source: policy_names
create table if not exists policy_names_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the policy
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
