-- grain: one row per agent pool at a time
-- workspaces: attached ones that the service counts; where it does not list them, how many an earlier pull has left, and null where that left
-- none. named: rows with an ID, which may be fewer or of an earlier pull. {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro pool_workspaces(at_time) as table
select
  pools.target,
  pools.pool_id,
  count(links.workspace_id) as named,
  coalesce(
    try_cast(any_value(pools.relationships) ->> 'workspaces' as bigint),
    nullif(named, 0)
  ) as workspaces,
from agent_pools_at(at_time) as pools
left join agent_pool_workspaces_at(at_time) as links
  on links.target = pools.target and links.pool_id = pools.pool_id and links.relation = 'attached'
group by pools.target, pools.pool_id;
