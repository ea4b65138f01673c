-- rule: The last ping of an agent is more than `agentSilentMinutes` old, or it has sent none.
-- severity: info
-- worst: warning
-- sources: agents
-- subject: agent
-- many: agents{of} have sent no ping for `agentSilentMinutes`
-- repair: look at the agent on its machine; ask who runs the pool
-- grain: one row per such agent; a warning where its status is still idle or busy; unknown where its last ping is in the future
-- parameters: $as_of, $agent_silent_minutes
select
  agents.target,
  agents.agent_id as subject_id,
  agents.name as subject_name,
  if(
    agents.last_ping_at >= $as_of::timestamptz + interval 1 day,
    'its last ping is in the future',
    format(
      'Agent {} of pool {} ({}) {}',
      coalesce(agents.name, agents.agent_id),
      coalesce(agent_pools.name, agents.pool_id, '?'),
      coalesce(agents.status, 'no status'),
      coalesce('has sent no ping since ' || strftime(agents.last_ping_at, '%Y-%m-%d %H:%M UTC'), 'has sent no ping')
    )
  ) as title,
  json_object(
    'agent_id', agents.agent_id,
    'pool_id', agents.pool_id,
    'status', agents.status,
    'last_ping_at', iso_time(agents.last_ping_at)
  ) as detail,
  case when is_live(agents.status) then 'warning' else 'info' end as severity,
  'pool ' || coalesce(agent_pools.name, agents.pool_id) as group_key,
  coalesce(agents.last_ping_at >= $as_of::timestamptz + interval 1 day, false) as unknown,
from agents
left join agent_pools on agent_pools.target = agents.target and agent_pools.pool_id = agents.pool_id
where
  agents.last_ping_at is null
  or agents.last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes * 60)
  or agents.last_ping_at >= $as_of::timestamptz + interval 1 day
