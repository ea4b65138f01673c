-- grain: one row per provider and version in use (Explorer view `providers`)
-- key: name, source, version, ordinal
-- source: providers
-- members: workspaces
-- told_in_part: yes
create table if not exists providers_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the provider
  source varchar, -- source of the provider
  version varchar, -- semantic version
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  ordinal bigint, -- 2, 3 and so on for further rows with the same key and other values; null for the first
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
