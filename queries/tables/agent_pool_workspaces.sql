-- grain: one row per workspace, pool and relation
-- key: pool_id, workspace_id, relation
-- source: agent_pools
-- volatile: yes
create table if not exists agent_pool_workspaces_history (
  target varchar not null, -- name of the target in tidemark.yaml
  pool_id varchar, -- ID of the pool
  workspace_id varchar, -- ID of the workspace
  relation varchar, -- `attached` (uses the pool) or `allowed` (may use it)
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
