-- rule: No agent of an agent pool is idle or busy.
-- severity: info
-- worst: critical
-- sources: agents, agent_pools
-- proves: complete listing of agents
-- judges: parts of agent_pools
-- subject: agent pool
-- many: agent pools have no live agent
-- repair: restart the agents of the pool; ask who runs its machines
-- grain: one row per such pool; critical where workspaces are attached, whose runs then wait; a warning where the service does not list them; unknown where a status is not reported or not documented
with
  counted as (
    select
      target,
      pool_id,
      count(*) as agents,
      count(*) filter (where is_live(status)) as live,
      count(*) filter (where is_live(status) is null) as unreported,
      max(last_ping_at) as last_ping_at,
    from agents
    group by target, pool_id
  ),
  users as (
    select
      pools.target,
      pools.pool_id,
      -- where another relationship is not listed, the rows are those of an earlier pull
      try_cast(any_value(pools.relationships) ->> 'workspaces' as bigint) as listed,
      coalesce(listed, count(related.workspace_id)) as workspaces,
      workspaces > 0 or listed is not null as are_listed,
    from agent_pools as pools
    left join agent_pool_workspaces as related
      on related.target = pools.target and related.pool_id = pools.pool_id and related.relation = 'attached'
    group by pools.target, pools.pool_id
  )
select
  agent_pools.target,
  agent_pools.pool_id as subject_id,
  agent_pools.name as subject_name,
  case
    when coalesce(counted.unreported, 0) > 0 then format('agents without a documented status: {}', counted.unreported)
    else format(
      'Agent pool {} has no live agent ({} known, {})',
      coalesce(agent_pools.name, agent_pools.pool_id),
      coalesce(counted.agents, 0),
      if(users.are_listed, format('{:,} {} attached', users.workspaces, if(users.workspaces = 1, 'workspace', 'workspaces')), 'its workspaces are not listed')
    )
  end as title,
  json_object(
    'pool_id', agent_pools.pool_id,
    'agents', coalesce(counted.agents, 0),
    'attached_workspaces', if(users.are_listed, users.workspaces, null),
    'last_ping_at', iso_time(counted.last_ping_at)
  ) as detail,
  case when users.workspaces > 0 then 'critical' when users.are_listed then 'info' else 'warning' end as severity,
  users.workspaces as weight,
  coalesce(counted.unreported, 0) > 0 as unknown,
from agent_pools
left join counted on counted.target = agent_pools.target and counted.pool_id = agent_pools.pool_id
join users on users.target = agent_pools.target and users.pool_id = agent_pools.pool_id
where coalesce(counted.live, 0) = 0
