-- grain: one row per agent
-- key: agent_id
-- source: agents
create table if not exists agents_history (
  target varchar not null, -- name of the target in tidemark.yaml
  agent_id varchar, -- ID of the agent (agent-…)
  pool_id varchar, -- pool it belongs to
  name varchar, -- name; null when it has none
  status varchar, -- idle, busy, exited, errored, unknown; an open set
  ip_address varchar, -- IP address
  last_ping_at timestamptz, -- time of the last ping
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
