-- grain: one row per workspace attached to a pool without a live agent
-- title: Workspaces attached to a pool without a live agent
-- sources: agent_pools, agents, workspaces
-- counted: stranded_workspaces
-- empty: None is named.
-- labels: pool_name=Pool; workspace_name=Workspace; project_name=Project; current_run_status=Last run
-- subjects: workspace_name=workspace:workspace_id; project_name=project; pool_name=agent pool:pool_id
-- hidden: pool_id, workspace_id
select
  down.target,
  down.pool_name,
  coalesce(workspaces.workspace_name, links.workspace_id) as workspace_name,
  workspaces.project_name,
  workspaces.current_run_status,
  down.pool_id,
  links.workspace_id,
from pools_down($as_of) as down
-- where a pool counts fewer than it has rows, these are those of an earlier pull
semi join (from pool_workspaces($as_of) where workspaces >= named) as counted using (target, pool_id)
join agent_pool_workspaces_at($as_of) as links using (target, pool_id)
left join workspaces_at($as_of) as workspaces
  on workspaces.target = links.target and workspaces.external_id = links.workspace_id
where links.relation = 'attached'
order by down.pool_name, workspace_name, down.target, down.pool_id, links.workspace_id;
