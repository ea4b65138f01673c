-- grain: one row per pool without an idle or busy agent
-- title: Pools without a live agent
-- about: "Since" is the pull that first reported the pool without a live agent. "Workspaces waiting" are attached to the pool; their runs cannot start.
-- counted: pools_without_live_agents
-- empty: No pool is known to be without a live agent.
-- labels: pool_name=Pool; agents=Agents; since=Since; waiting=Workspaces waiting; last_ping_at=Last ping; organization_scoped=For the whole organization
-- subjects: pool_name=agent pool:pool_id
-- links: waiting=stranded
-- hidden: pool_id
with
  last_live as (
    select target, pool_id, max(valid_to) as until
    from agents_history
    where is_live(status) and valid_from <= $as_of::timestamptz
    group by target, pool_id
  ),
  first_seen as (
    select target, pool_id, min(valid_from) as since from agent_pools_history group by target, pool_id
  )
select
  down.target,
  down.pool_name,
  down.agents,
  counted.workspaces as waiting,
  coalesce(last_live.until, first_seen.since) as since,
  down.last_ping_at,
  down.organization_scoped,
  down.pool_id,
from pools_down($as_of) as down
left join last_live using (target, pool_id)
left join first_seen using (target, pool_id)
left join pool_workspaces($as_of) as counted using (target, pool_id)
order by waiting desc nulls first, since, down.pool_name, down.target, down.pool_id;
