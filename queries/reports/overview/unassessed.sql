-- grain: one row per target and reason for which rules could not be assessed
-- title: Not assessed
-- about: These rules could not be evaluated. Their findings are as they were, and others may be missing.
-- empty: Every rule was assessed.
-- labels: severity=Up to; rules=Rules; reason=Reason; since=Since
select
  target,
  ['critical', 'warning', 'info'][min(list_position(['critical', 'warning', 'info'], severity))] as severity,
  string_agg(rule, ', ' order by rule) as rules,
  reason,
  min(since) as since,
from unassessed_rules
where since <= $as_of::timestamptz and coalesce(ended_at > $as_of::timestamptz, true)
group by target, reason
order by min(list_position(['critical', 'warning', 'info'], severity)), target, since, reason;
