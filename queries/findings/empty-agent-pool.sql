-- rule: An agent pool has no agents and no attached workspaces.
-- severity: info
-- sources: agents, agent_pools
-- subject: agent pool
-- grain: one row per such pool; unknown where the service counts agents that it does not list
with
  counted as (
    select
      agent_pools.*,
      (select count(*) from agents where agents.target = agent_pools.target and agents.pool_id = agent_pools.pool_id) as agents,
      (
        select count(*) filter (where relation = 'attached')
        from agent_pool_workspaces as related
        where related.target = agent_pools.target and related.pool_id = agent_pools.pool_id
      ) as attached,
      (
        select count(*) filter (where relation = 'allowed')
        from agent_pool_workspaces as related
        where related.target = agent_pools.target and related.pool_id = agent_pools.pool_id
      ) as allowed,
    from agent_pools
  )
select
  target,
  pool_id as subject_id,
  name as subject_name,
  case
    when agent_count > 0 then format('the service counts {} agent(s) of the pool and lists none', agent_count)
    else format('Agent pool {} has no agents and no attached workspaces', coalesce(name, pool_id))
  end as title,
  json_object(
    'pool_id', pool_id,
    'organization_scoped', organization_scoped,
    'allowed_workspaces', allowed,
    'created_at', iso_time(created_at)
  ) as detail,
  coalesce(agent_count, 0) > 0 as unknown,
from counted
where agents = 0 and attached = 0
