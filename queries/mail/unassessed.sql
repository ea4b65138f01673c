-- grain: one row per target of mail_routes and reason for which rules could not be assessed, those that can report the worst first
-- parameters: $as_of; $since
select
  list(gaps.rule order by gaps.rule) as rules,
  concat(gaps.target, ': ', string_agg(gaps.rule, ', ' order by gaps.rule)) as names,
  gaps.reason,
  min(gaps.since) as since,
  coalesce(min(gaps.since) > $since::timestamptz, true) as changed,
from unassessed_rules as gaps
where
  gaps.target in (select target from mail_routes)
  and gaps.since <= $as_of::timestamptz
  and coalesce(gaps.ended_at > $as_of::timestamptz, true)
group by gaps.target, gaps.reason
order by max(list_position(['info', 'warning', 'critical'], gaps.severity)) desc, gaps.target, since, gaps.reason;
