-- title: Agents and their last ping, by pool
-- description: Pools with the number of agents that pinged within the given minutes of the pull that listed them; unknown where the last one could not.
-- param: minutes integer = 10 - an agent that was silent longer is not alive
select
  agent_pools.target,
  agent_pools.name as pool,
  if(listed_at is null, null, count(agents.agent_id)) as agents,
  if(
    listed_at is null,
    null,
    count(agents.agent_id) filter (
      where agents.last_ping_at >= listed_at - to_minutes($minutes::integer)
        and agents.last_ping_at < listed_at + interval 1 day -- one in the future tells nothing
    )
  ) as alive,
  max(agents.last_ping_at) as last_ping_at
from (
  select agent_pools.*, if(unlisted.value is null, listed.as_of, null) as listed_at
  from agent_pools
  left join source_state as listed on listed.target = agent_pools.target and listed.source = 'agents'
  left join unknown_parts as unlisted
    on unlisted.target = agent_pools.target and unlisted.source = 'agents' and unlisted.value = agent_pools.pool_id
) as agent_pools
left join agents using (target, pool_id)
group by agent_pools.target, agent_pools.pool_id, agent_pools.name, listed_at
order by alive, agent_pools.target, pool;
