-- grain: one row per module and version in use (Explorer view `modules`)
-- key: name, source, version, ordinal
-- source: modules
-- members: workspaces
-- renewed: registry_type
-- told_in_part: yes
create table if not exists modules_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the module
  source varchar, -- source of the module
  version varchar, -- semantic version
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  registry_type varchar, -- registry that it comes from: `public` or `private`; null where that is not known
  ordinal bigint, -- 2, 3 and so on for further rows with the same key and other values; null for the first
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
