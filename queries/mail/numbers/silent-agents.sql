-- order: 35
-- report: agent-health
-- label: silent agents
-- grain: one row; none where no agent is known
-- parameters: $as_of; $since; $agent_silent_minutes
-- Judged at the pull that told of them: where agents could not be pulled tonight, not all of them have fallen silent.
with
  told as (
    select agents.*, state.as_of as told_at, false as earlier
    from agents_at($as_of) as agents
    join source_state_at($as_of) as state on state.target = agents.target and state.source = 'agents'
    union all by name
    select agents.*, state.as_of as told_at, true as earlier
    from agents_at($since) as agents
    join source_state_at($since) as state on state.target = agents.target and state.source = 'agents'
  ),
  judged as (
    select earlier, last_ping_at is null or last_ping_at < told_at - to_seconds($agent_silent_minutes::double * 60) as silent
    from told
    semi join mail_pools using (target, pool_id)
  )
select
  count(*) filter (where silent and not earlier) as value,
  if(bool_or(earlier), count(*) filter (where silent and earlier), null) as before,
from judged
having bool_or(not earlier);
