-- grain: one row per pool
-- title: Pools
-- about: A square is an agent. A workspace that is attached to a pool without a live agent waits: its runs cannot start.
-- empty: No pool is known.
-- labels: pool_name=Pool; squares=Agents; who=Workspaces; last_ping_at=Last ping; organization_scoped=For the whole organization
-- strips: squares=squares
-- legend: good=live: idle or busy; warn=live, but silent; bad=not live; soft=not known, or not drawn
-- details: who=names
-- subjects: pool_name=agent pool:pool_id
-- hidden: pool_id, names, agents, live, silent, attached, allowed, agents_listed
with
  -- Where the agents were never pulled, nothing is known of them.
  known as (
    select pools.target, pools.pool_id
    from agent_pools_at($as_of) as pools
    join source_state_at($as_of) as state
      on state.target = pools.target and state.source = 'agents' and state.as_of is not null
    anti join (from unknown_parts_at($as_of) where source = 'agents') as unknown
      on unknown.target = pools.target and unknown.value = pools.pool_id
  ),
  links as (
    select
      links.target,
      pool_id,
      count(*) filter (relation = 'allowed') as allowed,
      list(coalesce(workspaces.workspace_name, links.workspace_id) order by workspace_name, links.workspace_id)
        filter (relation = 'attached') as names,
    from agent_pool_workspaces_at($as_of) as links
    left join workspaces_at($as_of) as workspaces
      on workspaces.target = links.target and workspaces.external_id = links.workspace_id
    group by links.target, pool_id
  ),
  members as (
    select
      target,
      pool_id,
      count(*) as agents,
      count(*) filter (is_live(status)) as live,
      count(*) filter (is_live(status) is not false) as may_be_live,
      count(*) filter (
        last_ping_at is null or last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60)
      ) as silent,
      max(last_ping_at) as last_ping_at,
      list(
        {
          'kind': case
            when is_live(status) is false then 'bad'
            when is_live(status) is null then 'soft'
            when last_ping_at is null or last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60) then 'warn'
            else 'good'
          end,
          'value': 1,
          'text': concat_ws(' ', coalesce(name, agent_id), coalesce(status, 'no status')),
        }
        order by status in ('idle', 'busy') desc, name, agent_id
      ) as squares,
    from agents_at($as_of)
    group by target, pool_id
  ),
  drawn as (
    select
      pools.target,
      pools.name as pool_name,
      -- A row holds 60 squares, and one for the others.
      coalesce(members.squares[:60], if(known.target is null, [{'kind': 'soft', 'value': 1, 'text': 'not known'}], []))
      || if(members.agents > 60, [{'kind': 'soft', 'value': 1, 'text': format('and {:,} more', members.agents - 60)}], []) as squares,
      case
        when counted.workspaces is null then 'not listed'
        when counted.workspaces = 0 then null
        when known.target is not null and coalesce(members.may_be_live, 0) = 0 then format('{:,} {}', counted.workspaces, if(counted.workspaces = 1, 'waits', 'wait'))
        else format('{:,} attached', counted.workspaces)
      end as who,
      if(counted.workspaces >= counted.named, links.names, null) as names,
      if(known.target is null, null, coalesce(members.agents, 0)) as agents,
      if(known.target is null, null, coalesce(members.live, 0)) as live,
      if(known.target is null, null, coalesce(members.silent, 0)) as silent,
      counted.workspaces as attached,
      coalesce(links.allowed, 0) as allowed,
      pools.organization_scoped,
      members.last_ping_at,
      pools.agent_count as agents_listed,
      pools.pool_id,
    from agent_pools_at($as_of) as pools
    left join known using (target, pool_id)
    left join members using (target, pool_id)
    left join links using (target, pool_id)
    left join pool_workspaces($as_of) as counted using (target, pool_id)
  )
from drawn
order by (live = 0 and attached is distinct from 0) desc, live, attached desc nulls first, pool_name, target, pool_id;
