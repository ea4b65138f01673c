-- grain: one row per workspace, pool and relation
-- key: pool_id, workspace_id, relation
-- source: agent_pools
-- part: pool_id
-- volatile: yes
-- acted: platform.agent-pools id, agent_pool_id
create table if not exists agent_pool_workspaces_history (
  target varchar not null, -- name of the target in tidemark.yaml
  pool_id varchar, -- ID of the pool
  workspace_id varchar, -- ID of the workspace
  relation varchar, -- `attached` (uses the pool) or `allowed` (may use it)
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
