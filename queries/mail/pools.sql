-- grain: one row per agent pool of mail_routes: those of whole targets, and those to which a workspace of the projects is attached
-- What is left out now was not there before either.
-- down: whether none of its agents is live; null where the rule `pool-without-live-agents` could not know it, as in the report
-- was_down: as last known at the previous digest; null as well where it is not known now: what is no longer known is no change
-- parameters: $as_of; $since
create or replace temp table mail_pools as
with
  pools as (
    select target, pool_id, true as present from agent_pools_at($as_of)
    union all
    select target, pool_id, false from agent_pools_at($since) where target not in (from left_out_targets('agent_pools', $as_of))
  ),
  live as (
    select target, pool_id, true as present, is_live(status) is true as is_certain from agents_at($as_of) where is_live(status) is not false
    union all
    select target, pool_id, false, is_live(status) is true from agents_at($since) where is_live(status) is not false
  ),
  known as (
    select target, true as present from assessed_targets('pool-without-live-agents', ['agent_pools', 'agents'], $as_of)
    union all
    select target, false
    from source_state_at($since)
    where source = 'agents' and as_of is not null and target not in (from left_out_targets('agents', $as_of))
  ),
  -- pools whose agents could not be listed
  unlisted as (
    select (target, value) from unknown_parts_at($as_of) where source = 'agents' and value is not null
  ),
  attached as (
    select links.target, links.pool_id
    from agent_pool_workspaces_at($as_of) as links
    join mail_workspaces as mine on mine.target = links.target and mine.workspace_id = links.workspace_id
    where links.relation = 'attached'
  ),
  compared as (
    select
      target,
      pool_id,
      bool_or(present) as present,
      bool_or(not present) as was_present,
      if(
        exists (from known where known.target = pools.target and known.present)
        and (target, pool_id) not in (from unlisted),
        bool_or(present) and not (
          exists (
            from live where live.target = pools.target and live.pool_id = pools.pool_id and live.present and live.is_certain
          )
          -- one that may be live leaves it unknown
          or if(exists (from live where live.target = pools.target and live.pool_id = pools.pool_id and live.present), null, false)
        ),
        null
      ) as down,
      if(
        exists (from known where known.target = pools.target and known.present)
        and exists (from known where known.target = pools.target and not known.present)
        and (target, pool_id) not in (from unlisted),
        bool_or(not present) and not exists (
          from live where live.target = pools.target and live.pool_id = pools.pool_id and not live.present
        ),
        null
      ) as was_down,
    from pools
    group by target, pool_id
  )
select
  compared.*,
  exists (from known where known.target = compared.target and not known.present) as comparable,
from compared
where
  exists (from mail_routes as routes where routes.target = compared.target and routes.project is null)
  or exists (from attached where attached.target = compared.target and attached.pool_id = compared.pool_id);
