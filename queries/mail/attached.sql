-- grain: one row per finding that the digest tells of, worst first, for the attached CSV
-- parameters: $most
select
  news as state,
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
where news is not null
order by case news when 'new' then 1 when 'open' then 2 else 3 end, rank desc, rule, target, subject_name, finding_id
limit $most;
