-- title: Agents and their last ping, by pool
-- description: Pools with the number of agents that pinged within the given minutes of the last pull.
-- param: minutes integer = 10 - an agent that was silent longer is not alive
select
  agent_pools.target,
  agent_pools.name as pool,
  count(agents.agent_id) as agents,
  count(agents.agent_id) filter (
    where agents.last_ping_at >= (select max(as_of) from pulls) - to_minutes($minutes::integer)
      and agents.last_ping_at < (select max(as_of) from pulls) + interval 1 day -- one in the future tells nothing
  ) as alive,
  max(agents.last_ping_at) as last_ping_at
from agent_pools
left join agents using (target, pool_id)
group by agent_pools.target, agent_pools.pool_id, agent_pools.name
order by alive, agent_pools.target, pool;
