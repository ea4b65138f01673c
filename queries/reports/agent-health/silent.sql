-- grain: one row per silent agent
-- title: Silent agents
-- about: No ping within the allowed minutes before the time of this report, or no ping at all.
-- empty: No agent is silent.
-- labels: agent_name=Agent; pool_name=Pool; status=Status; last_ping_at=Last ping; silent_hours=Silent (hours); ip_address=Address; silent_when_pulled=Silent at the pull
-- subjects: pool_name=agent pool:pool_id; agent_name=agent:agent_id
-- hidden: agent_id, pool_id
select
  agents.target,
  coalesce(agents.name, agents.agent_id) as agent_name,
  pools.name as pool_name,
  agents.status,
  agents.last_ping_at,
  round(epoch($as_of::timestamptz - agents.last_ping_at) / 3600, 1) as silent_hours,
  coalesce(agents.last_ping_at < state.as_of - to_seconds($agent_silent_minutes::double * 60), true) as silent_when_pulled,
  agents.ip_address,
  agents.agent_id,
  agents.pool_id,
from agents_at($as_of) as agents
left join agent_pools_at($as_of) as pools using (target, pool_id)
left join source_state_at($as_of) as state on state.target = agents.target and state.source = 'agents'
where
  agents.last_ping_at is null
  or agents.last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60)
order by agents.last_ping_at nulls first, agent_name, agents.target, agents.agent_id;
