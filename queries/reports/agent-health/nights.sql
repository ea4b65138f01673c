-- grain: one row per day with a complete pull, over the last year
-- title: The nights
-- limit: 100
-- The numbers come from the changes alone. A pool counts as down from the moment that its live agents sum up to none.
with
  nights as (
    select max(as_of) as night
    from pulls
    where
      source = 'agents'
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  events as (
    select target, pool_id, valid_from as moment, 1 as agents, (status in ('idle', 'busy'))::integer as live, 0 as pools
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
    select target, pool_id, moment, sum(agents) as agents, sum(coalesce(live, 0)) as live, sum(pools) as pools
    from events
    group by target, pool_id, moment
  ),
  levels as (
    select
      moment,
      agents,
      live,
      pools,
      target,
      pool_id,
      (sum(pools) over pool > 0 and sum(live) over pool = 0)::integer as down,
    from steps
    window pool as (partition by target, pool_id order by moment)
  ),
  turns as (
    select
      moment,
      agents,
      live,
      pools,
      down - coalesce(lag(down) over (partition by target, pool_id order by moment), 0) as down,
    from levels
  ),
  standing as (
    select
      moment,
      sum(sum(agents)) over (order by moment) as agents,
      sum(sum(live)) over (order by moment) as live_agents,
      sum(sum(pools)) over (order by moment) as pools,
      sum(sum(down)) over (order by moment) as pools_without_live_agents,
    from turns
    group by moment
  )
select
  nights.night,
  standing.pools,
  standing.pools_without_live_agents,
  standing.agents,
  standing.live_agents,
from nights
asof join standing on nights.night >= standing.moment
order by nights.night desc;
