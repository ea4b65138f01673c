-- rule: An agent is unknown, errored or exited, and has sent no ping for `deadAgentHours`.
-- severity: warning
-- sources: agents
-- subject: agent
-- many: agents{of} are dead
-- repair: delete them, or restart the agent on its machine
-- grain: one row per such agent; unknown where its status is not reported or not documented
-- parameters: $as_of, $dead_agent_hours
-- Without a current ping time, silence counts from the last one that was reported, or from the pull that first saw the agent.
with
  contacts as (
    select
      target,
      agent_id,
      max(last_ping_at) as pinged_at,
      coalesce(max(last_ping_at), min(valid_from)) as contacted_at,
    from agents_history
    group by target, agent_id
  ),
  contacted as (
    select
      agents.*,
      coalesce(agents.last_ping_at, contacts.contacted_at) as silent_since,
      contacts.pinged_at is null as never_pinged,
      silent_since >= $as_of::timestamptz + interval 1 day as is_to_come,
      coalesce(agent_pools.name, agents.pool_id) as pool_name,
    from agents
    join contacts on contacts.target = agents.target and contacts.agent_id = agents.agent_id
    left join agent_pools on agent_pools.target = agents.target and agent_pools.pool_id = agents.pool_id
  )
select
  target,
  agent_id as subject_id,
  name as subject_name,
  case
    when status is null then 'its status is not reported'
    when is_live(status) is null then format('its status is {}, which is not documented', status)
    when is_to_come then 'its last ping is in the future'
    else format(
      'Agent {} of pool {} is {} and has sent no ping since {}{}',
      coalesce(name, agent_id),
      coalesce(pool_name, '?'),
      status,
      strftime(silent_since, '%Y-%m-%d %H:%M UTC'),
      case when never_pinged then ', when it was first seen' else '' end
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
  is_live(status) is null or is_to_come as unknown,
from contacted
where
  (silent_since < $as_of::timestamptz - to_seconds($dead_agent_hours * 3600) or is_to_come)
  and is_live(status) is not true
