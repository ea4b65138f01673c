-- grain: one row per agent
-- key: agent_id
-- source: agents
-- place: pool_id
-- part: pool_id
-- renewed: last_ping_at
-- acted: platform.agents id
create table if not exists agents_history (
  target varchar not null, -- name of the target in tidemark.yaml
  agent_id varchar, -- ID of the agent (agent-…)
  pool_id varchar, -- pool it belongs to
  name varchar, -- name; null when it has none
  status varchar, -- idle, busy, exited, errored, unknown; an open set
  ip_address varchar, -- IP address
  last_ping_at timestamptz, -- time of the last ping
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
