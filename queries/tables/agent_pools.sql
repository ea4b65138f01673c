-- grain: one row per agent pool
-- key: pool_id
-- source: agent_pools
create table if not exists agent_pools_history (
  target varchar not null, -- name of the target in tidemark.yaml
  pool_id varchar, -- ID of the pool (apool-…)
  name varchar, -- name of the pool
  created_at timestamptz, -- creation time
  organization_scoped boolean, -- whether all workspaces of the organization may use it
  agent_count bigint, -- agents that the service counts
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
