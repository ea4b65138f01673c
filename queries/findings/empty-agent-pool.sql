-- rule: An agent pool has no agents, and nothing is attached to it.
-- severity: info
-- sources: agents, agent_pools
-- proves: complete listing of agents, agent_pools
-- subject: agent pool
-- many: agent pools are empty and unused
-- repair: delete the pools
-- grain: one row per such pool; unknown where the service counts agents that it does not list, or does not list what uses the pool
with
  counted as (
    select
      agent_pools.*,
      coalesce(users.used_by, []) as used_by,
      list_sort(
        coalesce(users.unreported, [])
        || if((relationships ->> 'workspaces') is null, ['workspaces'], [])
        -- a user that is not known may be them under another name
        || if(coalesce(len(users.used_by), 0) > 0 and (relationships ->> 'allowed-workspaces') is null, ['allowed-workspaces'], [])
      ) as unreported,
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
    left join agent_pool_users() as users on users.target = agent_pools.target and users.pool_id = agent_pools.pool_id
  )
select
  target,
  pool_id as subject_id,
  name as subject_name,
  case
    when agent_count > 0 then format('the service reports an agent count of {} and lists no agent', agent_count)
    when len(unreported) > 0 then format('the service does not list the {} of the pool', array_to_string(unreported, ', '))
    else format('Agent pool {} has no agents, and nothing is attached to it', coalesce(name, pool_id))
  end as title,
  json_object(
    'pool_id', pool_id,
    'organization_scoped', organization_scoped,
    'allowed_workspaces', allowed,
    'relationships', relationships,
    'created_at', iso_time(created_at)
  ) as detail,
  coalesce(agent_count, 0) > 0 or len(unreported) > 0 as unknown,
from counted
where agents = 0 and attached = 0 and (len(used_by) = 0 or list_contains(unreported, 'allowed-workspaces'))
