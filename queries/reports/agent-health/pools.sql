-- grain: one row per pool
-- title: Pools
-- labels: pool_name=Pool; live=Live; attached=Attached workspaces; allowed=Allowed workspaces; agents_listed=Agents according to the service; last_ping_at=Last ping; organization_scoped=For the whole organization
-- subjects: pool_name=agent pool:pool_id
-- hidden: pool_id
with
  links as (
    select
      target,
      pool_id,
      count(*) filter (relation = 'attached') as attached,
      count(*) filter (relation = 'allowed') as allowed,
    from agent_pool_workspaces_at($as_of)
    group by target, pool_id
  ),
  members as (
    select
      target,
      pool_id,
      count(*) as agents,
      count(*) filter (status in ('idle', 'busy')) as live,
      count(*) filter (
        last_ping_at is null or last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60)
      ) as silent,
      max(last_ping_at) as last_ping_at,
    from agents_at($as_of)
    group by target, pool_id
  )
select
  pools.target,
  pools.name as pool_name,
  coalesce(members.agents, 0) as agents,
  coalesce(members.live, 0) as live,
  coalesce(members.silent, 0) as silent,
  coalesce(links.attached, 0) as attached,
  coalesce(links.allowed, 0) as allowed,
  pools.organization_scoped,
  members.last_ping_at,
  pools.agent_count as agents_listed,
  pools.pool_id,
from agent_pools_at($as_of) as pools
left join members using (target, pool_id)
left join links using (target, pool_id)
order by live, attached desc, pool_name, pools.target, pools.pool_id;
