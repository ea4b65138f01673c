-- grain: one row per module and version in use (Explorer view `modules`)
-- key: name, source, version
-- source: modules
-- members: workspaces
create table if not exists modules_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the module
  source varchar, -- source of the module
  version varchar, -- semantic version
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
