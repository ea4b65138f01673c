-- order: 35
-- report: agent-health
-- label: silent agents
-- grain: one row; none where no agent is known
-- parameters: $as_of; $since; $agent_silent_minutes
with
  mine as (select target, pool_id from mail_pools),
  now as (
    select count(*) as agents, count(*) filter (
      where last_ping_at is null or last_ping_at < $as_of::timestamptz - to_seconds($agent_silent_minutes::double * 60)
    ) as silent
    from agents_at($as_of)
    semi join mine using (target, pool_id)
  ),
  before as (
    select count(*) as agents, count(*) filter (
      where last_ping_at is null or last_ping_at < $since::timestamptz - to_seconds($agent_silent_minutes::double * 60)
    ) as silent
    from agents_at($since)
    semi join mine using (target, pool_id)
  )
select now.silent as value, if(before.agents > 0, before.silent, null) as before
from now, before
where now.agents > 0;
