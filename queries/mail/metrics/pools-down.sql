-- order: 30
-- report: agent-health
-- label: agent pools without a live agent
-- one: pool down
-- many: pools down
-- sources: agent_pools, agents
-- Where it is not known of a pool, the others do not say `no change`.
-- grain: one row; none where no pool is known, or its agents were never pulled
select
  if(count(down) > 0, count(*) filter (where down), null) as value,
  if(bool_or(comparable) and count(down) = count(*), count(*) filter (where was_down), null) as before,
  if($since is null, null, count(*) filter (where down and not comparable)) as first_assessed,
  if(bool_or(comparable), count(*) filter (where comparable and down and not was_down), null) as added,
  if(bool_or(comparable), count(*) filter (where was_down and present and not down), null) as resolved,
  if(bool_or(comparable), count(*) filter (where was_down and not present), null) as deleted,
from mail_pools
having count(down) > 0 or bool_or(comparable);
