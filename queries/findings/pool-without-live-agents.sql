-- rule: No agent of an agent pool is idle or busy.
-- severity: info
-- worst: critical
-- sources: agents, agent_pools
-- proves: complete listing of agents
-- subject: agent pool
-- many: agent pools have no live agent
-- repair: restart the agents of the pool; ask who runs its machines
-- grain: one row per such pool; critical where workspaces are attached, whose runs then wait; unknown where a status is not reported or not documented
with
  counted as (
    select
      target,
      pool_id,
      count(*) as agents,
      count(*) filter (where status in ('idle', 'busy')) as live,
      count(*) filter (where coalesce(status not in ('idle', 'busy', 'unknown', 'errored', 'exited'), true)) as unreported,
      max(last_ping_at) as last_ping_at,
    from agents
    group by target, pool_id
  ),
  attached as (
    select target, pool_id, count(*) as workspaces
    from agent_pool_workspaces
    where relation = 'attached'
    group by target, pool_id
  )
select
  agent_pools.target,
  agent_pools.pool_id as subject_id,
  agent_pools.name as subject_name,
  case
    when coalesce(counted.unreported, 0) > 0 then format('agents without a documented status: {}', counted.unreported)
    else format(
      'Agent pool {} has no live agent ({} known, {} workspaces attached)',
      coalesce(agent_pools.name, agent_pools.pool_id),
      coalesce(counted.agents, 0),
      coalesce(attached.workspaces, 0)
    )
  end as title,
  json_object(
    'pool_id', agent_pools.pool_id,
    'agents', coalesce(counted.agents, 0),
    'attached_workspaces', coalesce(attached.workspaces, 0),
    'last_ping_at', iso_time(counted.last_ping_at)
  ) as detail,
  case when attached.workspaces > 0 then 'critical' else 'info' end as severity,
  coalesce(attached.workspaces, 0) as weight,
  coalesce(counted.unreported, 0) > 0 as unknown,
from agent_pools
left join counted on counted.target = agent_pools.target and counted.pool_id = agent_pools.pool_id
left join attached on attached.target = agent_pools.target and attached.pool_id = agent_pools.pool_id
where coalesce(counted.live, 0) = 0
