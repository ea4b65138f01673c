-- grain: one row per agent pool
-- key: pool_id
-- source: agent_pools
-- past: created_at
-- acted: platform.agent-pools id, agent_pool_id
create table if not exists agent_pools_history (
  target varchar not null, -- name of the target in tidemark.yaml
  pool_id varchar, -- ID of the pool (apool-…)
  name varchar, -- name of the pool
  created_at timestamptz, -- creation time
  organization_scoped boolean, -- whether all workspaces of the organization may use it
  agent_count bigint, -- agents that the service reports
  relationships json, -- number of resources by name of the relationship; null where the service sends the relationship without its resources
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
