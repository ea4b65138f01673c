-- grain: one row per target and reason why some rules cannot be assessed now, with the rules
-- parameters: $targets: list of target names; $severities: list; $rules: list, null for all
select
  target,
  reason,
  min(since) as since,
  list(rule order by rule) as rules,
from unassessed_rules
where
  ended_at is null
  and list_contains($targets::varchar[], target)
  and list_contains($severities::varchar[], severity)
  and coalesce(list_contains($rules::varchar[], rule), true)
group by target, reason
order by target, since, reason;
