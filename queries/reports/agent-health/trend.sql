-- grain: one row per day with a complete pull, over the last year
-- title: Trend
-- Sums up changes. A pool is down while it has no live agent.
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      source = 'agents'
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  events as (
    select target, pool_id, valid_from as changed_at, 1 as agents, (status in ('idle', 'busy'))::integer as live, 0 as pools
    from agents_history
    union all
    select target, pool_id, valid_to, -1, -(status in ('idle', 'busy'))::integer, 0
    from agents_history
    where valid_to is not null
    union all
    select target, pool_id, valid_from, 0, 0, 1 from agent_pools_history
    union all
    select target, pool_id, valid_to, 0, 0, -1 from agent_pools_history where valid_to is not null
  ),
  steps as (
    select target, pool_id, changed_at, sum(agents) as agents, sum(coalesce(live, 0)) as live, sum(pools) as pools
    from events
    group by target, pool_id, changed_at
  ),
  levels as (
    select
      changed_at,
      agents,
      live,
      pools,
      target,
      pool_id,
      (sum(pools) over pool > 0 and sum(live) over pool = 0)::integer as down,
    from steps
    window pool as (partition by target, pool_id order by changed_at)
  ),
  turns as (
    select
      changed_at,
      agents,
      live,
      pools,
      down - coalesce(lag(down) over (partition by target, pool_id order by changed_at), 0) as down,
    from levels
  ),
  totals as (
    select
      changed_at,
      sum(sum(agents)) over (order by changed_at) as agents,
      sum(sum(live)) over (order by changed_at) as live_agents,
      sum(sum(pools)) over (order by changed_at) as pools,
      sum(sum(down)) over (order by changed_at) as pools_without_live_agents,
    from turns
    group by changed_at
  )
select
  days.pulled_at as as_of,
  totals.pools,
  totals.pools_without_live_agents,
  totals.agents,
  totals.live_agents,
from days
asof join totals on days.pulled_at >= totals.changed_at
order by as_of desc;
