-- grain: one row per provider and version in use (Explorer view `providers`)
-- key: name, source, version
-- source: providers
-- members: workspaces
create table if not exists providers_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the provider
  source varchar, -- source of the provider
  version varchar, -- semantic version
  workspace_count bigint, -- workspaces using it
  workspaces varchar, -- comma-separated workspaces using it
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
