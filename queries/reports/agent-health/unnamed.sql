-- grain: one row per agent without a name
-- title: Unnamed agents
-- sources: agent_pools, agents
-- about: The machine of an agent without a name is unknown.
-- empty: Every agent has a name.
-- labels: agent_id=Agent; pool_name=Pool; status=Status; last_ping_at=Last ping; ip_address=Address
-- subjects: pool_name=agent pool; agent_id=agent
select
  agents.target,
  agents.agent_id,
  pools.name as pool_name,
  agents.status,
  agents.last_ping_at,
  agents.ip_address,
from agents_at($as_of) as agents
left join agent_pools_at($as_of) as pools using (target, pool_id)
where agents.name is null
order by pool_name, agents.agent_id, agents.target;
