-- grain: one row per agent pool, relationship and related resource; the workspaces of `agent_pool_workspaces` are not repeated
-- key: pool_id, relationship, related_type, related_id
-- source: agent_pools
-- part: pool_id
-- volatile: yes
-- acted: platform.agent-pools id, agent_pool_id
create table if not exists agent_pool_relationships_history (
  target varchar not null, -- name of the target in tidemark.yaml
  pool_id varchar, -- ID of the pool
  relationship varchar, -- name of the relationship as the service sends it, for example `stacks` or `hyok-configurations`
  related_type varchar, -- type of the related resource
  related_id varchar, -- ID of the related resource
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
