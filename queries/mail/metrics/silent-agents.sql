-- order: 35
-- report: agent-health
-- label: agents silent at their pull
-- sources: agents
-- grain: one row; none where no agent is known
-- parameters: $as_of; $since; $agent_silent_minutes
-- Agents are evaluated at the time of their pull, so that a failed pull does not make all of them silent.
with
  agents_then as (
    select agents.*, state.as_of as pulled_at, false as is_previous
    from agents_at($as_of) as agents
    join source_state_at($as_of) as state on state.target = agents.target and state.source = 'agents'
    union all by name
    select agents.*, state.as_of as pulled_at, true as is_previous
    from agents_at($since) as agents
    join source_state_at($since) as state on state.target = agents.target and state.source = 'agents'
    where agents.target not in (from left_out_targets('agents', $as_of))
  ),
  evaluated as (
    select
      is_previous,
      last_ping_at is null or last_ping_at < pulled_at - to_seconds($agent_silent_minutes::double * 60) as silent,
      target in (from source_state_at($since) select target where source = 'agents' and as_of is not null) as comparable,
    from agents_then
    semi join mail_pools using (target, pool_id)
  )
select
  count(*) filter (where silent and not is_previous) as value,
  if(bool_or(is_previous), count(*) filter (where silent and is_previous), null) as before,
  if($since is null, null, count(*) filter (where silent and not is_previous and not comparable)) as first_assessed,
from evaluated
having bool_or(not is_previous);
