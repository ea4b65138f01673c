-- grain: one row per finding of the digest, worst first, for the attached CSV
-- parameters: $max_rows
select
  digest_state as state,
  severity,
  rule,
  target,
  subject_type,
  subject_name,
  subject_id,
  title,
  opened_at,
  resolved_at,
  times_reopened,
  group_key as cause,
  finding_id,
from mail_findings
where digest_state is not null
order by case digest_state when 'new' then 1 when 'open' then 2 when 'resolved' then 3 else 4 end, rank desc, rule, target, subject_name, finding_id
limit $max_rows;
