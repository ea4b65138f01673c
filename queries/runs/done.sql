-- grain: one row per action that was started from the run until the next one
-- title: What was done
-- order: 5
-- empty: No action was applied.
-- parameters: $started_at, $next_at
select started_at, status, target, playbook, operation, plan_id, approved_by, reason
from actions
where started_at >= $started_at::timestamptz and ($next_at is null or started_at < $next_at::timestamptz)
order by started_at, plan_id, action_id
limit 500;
