-- grain: one row per tool version in use (Explorer view `tf_versions`)
-- key: version, ordinal
-- source: tf_versions
-- members: workspaces
-- told_in_part: yes
create table if not exists tf_versions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  version varchar, -- semantic version of the tool
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  ordinal bigint, -- 2, 3 and so on for further rows with the same key and other values; null for the first
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
