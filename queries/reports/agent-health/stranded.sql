-- grain: one row per workspace attached to a pool without a live agent
-- title: Workspaces attached to a pool without a live agent
-- sources: agent_pools, agents, workspaces
-- counted: stranded_workspaces
-- empty: None.
-- labels: pool_name=Pool; workspace_name=Workspace; project_name=Project; current_run_status=Last run
-- subjects: workspace_name=workspace:workspace_id; project_name=project; pool_name=agent pool:pool_id
-- hidden: pool_id, workspace_id
with
  down as (
    select pools.target, pools.pool_id, pools.name as pool_name
    from agent_pools_at($as_of) as pools
    semi join assessed_targets('pool-without-live-agents', ['agent_pools', 'agents'], $as_of) as assessed
      on assessed.target = pools.target
    left join agents_at($as_of) as agents using (target, pool_id)
    group by all
    having count(agents.agent_id) filter (is_live(agents.status) is not false) = 0
  )
select
  down.target,
  down.pool_name,
  coalesce(workspaces.workspace_name, links.workspace_id) as workspace_name,
  workspaces.project_name,
  workspaces.current_run_status,
  down.pool_id,
  links.workspace_id,
from down
join agent_pool_workspaces_at($as_of) as links using (target, pool_id)
left join workspaces_at($as_of) as workspaces
  on workspaces.target = links.target and workspaces.external_id = links.workspace_id
where links.relation = 'attached'
order by down.pool_name, workspace_name, down.target, down.pool_id, links.workspace_id;
