-- grain: one row per agent pool of which no agent may be live at a time, where its agents are known
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro pools_down(at_time) as table
select
  pools.target,
  pools.pool_id,
  pools.name as pool_name,
  pools.organization_scoped,
  count(agents.agent_id) as agents,
  max(agents.last_ping_at) as last_ping_at,
from agent_pools_at(at_time) as pools
semi join assessed_targets('pool-without-live-agents', ['agent_pools', 'agents'], at_time) as assessed
  on assessed.target = pools.target
anti join (from unknown_parts_at(at_time) where source = 'agents') as unknown
  on unknown.target = pools.target and unknown.value = pools.pool_id
left join agents_at(at_time) as agents using (target, pool_id)
group by all
having count(agents.agent_id) filter (is_live(agents.status) is not false) = 0;
