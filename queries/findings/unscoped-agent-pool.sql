-- rule: An agent pool is open to the whole organization, and only one to three workspaces are attached to it.
-- severity: info
-- sources: agent_pools
-- proves: complete listing of agent_pools
-- subject: agent pool
-- many: agent pools are open to every workspace, and few use them
-- repair: restrict the pool to the workspaces that use it
-- grain: one row per such pool; unknown where its scope or what uses it is not reported
-- A pool with more than three workspaces is assumed to be shared on purpose.
with
  attached as (
    select target, pool_id, list_sort(list(workspace_id)) as workspace_ids
    from agent_pool_workspaces
    where relation = 'attached'
    group by target, pool_id
  ),
  allowed as (
    select target, pool_id, list_sort(list(workspace_id)) as workspace_ids
    from agent_pool_workspaces
    where relation = 'allowed'
    group by target, pool_id
  )
select
  agent_pools.target,
  agent_pools.pool_id as subject_id,
  agent_pools.name as subject_name,
  case
    when agent_pools.organization_scoped is null then 'its scope is not reported'
    when (relationships ->> 'workspaces') is null and attached.workspace_ids is null
      then 'the service does not list the workspaces of the pool'
    when len(users.unreported) > 0 then format('the service does not list the {} of the pool', array_to_string(users.unreported, ', '))
    else format(
      'Agent pool {} is open to all workspaces, and {} {} attached',
      coalesce(agent_pools.name, agent_pools.pool_id),
      len(attached.workspace_ids),
      case when len(attached.workspace_ids) = 1 then 'is' else 'are' end
    )
  end as title,
  json_object(
    'pool_id', agent_pools.pool_id,
    'workspace_ids', attached.workspace_ids,
    'allowed_workspace_ids', coalesce(allowed.workspace_ids, []),
    'relationships', agent_pools.relationships
  ) as detail,
  agent_pools.organization_scoped is null
  or attached.workspace_ids is null
  or coalesce(len(users.unreported), 0) > 0 as unknown,
from agent_pools
left join attached on attached.target = agent_pools.target and attached.pool_id = agent_pools.pool_id
left join allowed on allowed.target = agent_pools.target and allowed.pool_id = agent_pools.pool_id
left join agent_pool_users() as users on users.target = agent_pools.target and users.pool_id = agent_pools.pool_id
where
  agent_pools.organization_scoped is not false
  and case
    when attached.workspace_ids is null then (relationships ->> 'workspaces') is null
    else len(attached.workspace_ids) <= 3 and coalesce(len(users.used_by), 0) = 0
  end
