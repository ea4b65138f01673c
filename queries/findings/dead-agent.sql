-- rule: An agent is unknown, errored or exited, and has been silent for longer than `deadAgentHours`.
-- severity: warning
-- sources: agents
-- subject: agent
-- grain: one row per such agent; unknown where the service tells no status
-- parameters: $as_of, $dead_agent_hours
-- An agent that tells no ping has been silent since the last one it told, or since the pull that first saw it: never "forever".
with
  heard as (
    select
      target,
      agent_id,
      max(last_ping_at) as pinged_at,
      coalesce(max(last_ping_at), min(valid_from)) as heard_at,
    from agents_history
    group by target, agent_id
  ),
  silent as (
    select
      agents.*,
      coalesce(agents.last_ping_at, heard.heard_at) as silent_since,
      heard.pinged_at is null as never_pinged,
      coalesce(agent_pools.name, agents.pool_id) as pool_name,
    from agents
    join heard on heard.target = agents.target and heard.agent_id = agents.agent_id
    left join agent_pools on agent_pools.target = agents.target and agent_pools.pool_id = agents.pool_id
  )
select
  target,
  agent_id as subject_id,
  name as subject_name,
  case
    when status is null then 'its status is not told'
    else format(
      'Agent {} of pool {} is {} and silent since {}{}',
      coalesce(name, agent_id),
      coalesce(pool_name, '?'),
      status,
      strftime(silent_since, '%Y-%m-%d %H:%M UTC'),
      case when never_pinged then ', when it was first seen: it never told a ping' else '' end
    )
  end as title,
  json_object(
    'agent_id', agent_id,
    'pool_id', pool_id,
    'pool_name', pool_name,
    'status', status,
    'last_ping_at', iso_time(last_ping_at),
    'silent_since', iso_time(silent_since),
    'never_pinged', never_pinged
  ) as detail,
  'pool ' || pool_name as group_key,
  status is null as unknown,
from silent
where
  silent_since < $as_of::timestamptz - to_seconds($dead_agent_hours * 3600)
  and (status is null or status in ('unknown', 'errored', 'exited'))
