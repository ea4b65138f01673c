-- grain: one row per finding of a rule that is not resolved, the worst first; an acceptance that has expired counts as open
-- parameters: $rule, $targets, $now
select
  finding_id,
  target,
  severity,
  subject_id,
  subject_name,
  title,
  detail,
  if(state = 'accepted' and accepted_until <= $now::timestamptz, 'open', state) as state,
  coalesce(opened_at, first_seen) as since,
  last_seen,
  unassessed_since,
  accepted_until,
  accepted_reason,
from findings
where rule = $rule and state <> 'resolved' and list_contains($targets::varchar[], target)
order by
  list_position(['critical', 'warning', 'info'], severity),
  weight desc nulls last,
  subject_name nulls last,
  target,
  title,
  finding_id;
