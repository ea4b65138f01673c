-- grain: one row
-- title: Agent health
-- order: 5
-- rules: pool-without-live-agents, dead-agent, silent-agent, empty-agent-pool, unscoped-agent-pool
-- unknown: agents_unknown
-- sources: agent_pools, agents
-- about: Agent pools, their agents, and the workspaces that wait for a pool without a live agent. An agent is live if it is idle or busy, and silent if it has not sent a ping within the allowed minutes before the time of this report.
with
  state as (
    select
      coalesce(bool_and(previous_as_of is not null), false) as comparable,
      coalesce(bool_or(source = 'agent_pools'), false) as has_pools,
      coalesce(bool_or(source = 'agents'), false) as has_agents,
    from source_state_at($as_of)
    where source in ('agents', 'agent_pools') and as_of is not null
  ),
  assessed as (
    select target
    from assessed_targets('pool-without-live-agents', ['agent_pools', 'agents'], $as_of)
  ),
  -- live and agents: null where the agents of the target or pool are not known; live as well where none is known to be, and one may be
  pools as (
    select
      pools.target,
      pools.pool_id,
      if(is_known, count(agents.agent_id), null) as agents,
      case
        when not is_known then null
        when bool_or(is_live(agents.status)) then count(*) filter (is_live(agents.status))
        when bool_or(agents.agent_id is not null and is_live(agents.status) is null) then null
        else 0
      end as live,
    from (
      select
        *,
        target in (from assessed)
        and (target, pool_id) not in (
          select (target, value) from unknown_parts_at($as_of) where source = 'agents' and value is not null
        ) as is_known,
      from agent_pools_at($as_of)
    ) as pools
    left join agents_at($as_of) as agents on agents.target = pools.target and agents.pool_id = pools.pool_id
    group by pools.target, pools.pool_id, is_known
  ),
  pools_before as (
    select
      pools.target,
      pools.pool_id,
      count(agents.agent_id) filter (is_live(agents.status) is not false) as live,
    from agent_pools_before($as_of) as pools
    left join agents_before($as_of) as agents using (target, pool_id)
    group by pools.target, pools.pool_id
  ),
  agent_counts as (
    select
      count(*) as agents,
      count(*) filter (
        last_ping_at is null or last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60)
      ) as silent_agents,
      count(*) filter (
        last_ping_at is null or last_ping_at < state.as_of - to_seconds($agent_silent_minutes::double * 60)
      ) as silent_when_pulled,
      count_known(is_live(agents.status)) as live_agents,
      count(*) filter (is_live(agents.status) is null or last_ping_at >= $as_of::timestamptz + interval 1 day) as agents_unknown,
      count(*) filter (name is null) as unnamed_agents,
    from agents_at($as_of) as agents
    left join source_state_at($as_of) as state on state.target = agents.target and state.source = 'agents'
  ),
  statuses as (
    select coalesce(map_from_entries(list({'k': status, 'v': agents} order by status)), map([], [])) as by_status
    from (
      select coalesce(status, 'no status') as status, count(*) as agents from agents_at($as_of) group by 1
    )
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  pool_counts as (
    select
      count(*) as pools,
      count(*) filter (live = 0) as pools_without_live_agents,
      count(*) filter (agents = 0) as empty_pools,
      count(*) filter (live is null) as unknown_pools,
      count(live) > 0 or count(*) = 0 as is_known,
    from pools
  ),
  before_counts as (
    select
      count(*) as pools,
      count(*) filter (live = 0) as pools_without_live_agents,
      (select count(*) from agents_before($as_of)) as agents,
      (select count_known(is_live(status)) from agents_before($as_of)) as live_agents,
    from pools_before
  ),
  waiting as (
    select counted.* from pool_workspaces($as_of) as counted join pools using (target, pool_id) where pools.live = 0
  ),
  attached as (
    select
      -- a workspace may be attached to two of them; where a pool counts fewer than it has rows, these are those of an earlier pull
      (
        select count(distinct row(target, workspace_id))
        from agent_pool_workspaces_at($as_of)
        semi join (from waiting where workspaces >= waiting.named) using (target, pool_id)
        where relation = 'attached'
      ) as named,
      coalesce(sum(if(workspaces < waiting.named, workspaces, workspaces - waiting.named)), 0)::bigint as others,
      count(*) > count(workspaces) as are_some_unlisted,
    from waiting
  ),
  counted as (
    select
      pool_counts.pools,
      agent_counts.agents,
      statuses.by_status,
      if(is_known, pool_counts.pools_without_live_agents, null) as pools_without_live_agents,
      agent_counts.silent_agents,
      agent_counts.silent_when_pulled,
      agent_counts.live_agents,
      agent_counts.agents_unknown,
      agent_counts.unnamed_agents,
      if(is_known, pool_counts.empty_pools, null) as empty_pools,
      -- where those of a pool are not listed, the number may be too low, and 0 says nothing
      if(is_known, nullif(named + others, if(are_some_unlisted, 0, null)), null) as stranded_workspaces,
      pool_counts.unknown_pools,
      case when state.comparable and has_pools then before_counts.pools end as pools_before,
      case when state.comparable and has_agents then before_counts.agents end as agents_before,
      case when state.comparable and has_pools and has_agents then before_counts.pools_without_live_agents end as pools_without_live_agents_before,
      case when state.comparable and has_agents then before_counts.live_agents end as live_agents_before,
      not state.comparable as baseline,
    from state
    cross join attached
    cross join before_counts
    -- what was never pulled has no number
    left join pool_counts on has_pools
    left join agent_counts on has_agents
    left join statuses on has_agents
  )
select
  *,
  concat_ws(
    '; ',
    coalesce(
      format(
        '{} of {:,} {} {} no live agent{}{}',
        coalesce(format('{:,}', pools_without_live_agents), '?'),
        pools,
        if(pools = 1, 'pool', 'pools'),
        if(pools = 1 or pools_without_live_agents = 1, 'has', 'have'),
        case
          when pools_without_live_agents is null or stranded_workspaces = 0 then ''
          when stranded_workspaces is null then ', and it is not known how many workspaces wait'
          when stranded_workspaces = 1 then ', and 1 workspace waits'
          else format(', and {:,} workspaces wait', stranded_workspaces)
        end,
        if(unknown_pools between 1 and pools - 1, format(', of {:,} it is not known', unknown_pools), '')
      ),
      'The agent pools are not known'
    ),
    if(
      agents is null or (pools > 0 and pools_without_live_agents is null and agents = 0),
      'the agents are not known',
      format(
        '{:,} of {:,} {} {} silent{}',
        silent_when_pulled,
        agents,
        if(agents = 1, 'agent', 'agents'),
        if(agents = 1 or silent_when_pulled = 1, 'is', 'are'),
        -- nobody has asked the others since
        if(silent_agents > silent_when_pulled, ' at the last pull', '')
      )
    )
  ) as headline,
from counted;
