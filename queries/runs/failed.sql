-- grain: one row per pull that is not complete, reason for which rules of a target cannot be assessed since the run, and action that failed
-- title: What failed, and why
-- order: 1
-- empty: Everything that the run tried is complete.
-- parameters: $run_id, $started_at, $next_at
select 'pull' as what, target, source as name, status, coalesce(error, note) as why
from pulls
where run_id = $run_id and status not in ('complete', 'left-out', 'unsupported')
union all
select 'rule', target, string_agg(rule, ', ' order by list_position(['critical', 'warning', 'info'], severity), rule), 'not assessed', reason
from unassessed_rules
where since = $started_at::timestamptz
group by target, reason
union all
select 'action', target, operation, status, reason
from actions
where started_at >= $started_at::timestamptz and ($next_at is null or started_at < $next_at::timestamptz) and status in ('failed', 'unconfirmed')
order by what, target, name
limit 500;
