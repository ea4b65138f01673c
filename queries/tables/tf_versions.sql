-- grain: one row per tool version in use (Explorer view `tf_versions`)
-- key: version
-- source: tf_versions
-- members: workspaces
create table if not exists tf_versions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  version varchar, -- semantic version of the tool
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
