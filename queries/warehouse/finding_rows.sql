-- grain: one row per finding of {{listed}}, the rows of listed_findings.sql
select
  finding_id,
  target,
  rule,
  severity,
  subject_type,
  subject_id,
  subject_name,
  title,
  detail,
  state,
  first_seen,
  last_seen,
  resolved_at,
  times_reopened,
  opened_at,
  state_since,
  unassessed_since,
  accepted_until,
  accepted_reason,
  accepted_owner,
  group_key,
  group_size,
from (
  {{listed}}
)
order by place;
