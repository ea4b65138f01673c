-- title: The findings that are open longest
-- description: Open findings with their age. Accepted and resolved findings are left out.
-- param: rule text = '' - only of this rule
-- param: severity text = '' - only of this severity: info, warning or critical
select
  severity,
  rule,
  target,
  subject_type,
  coalesce(subject_name, subject_id) as subject,
  title,
  coalesce(opened_at, first_seen) as open_since,
  date_diff('day', coalesce(opened_at, first_seen), (select max(as_of) from pulls)) as days,
  times_reopened
from findings
where
  state in ('new', 'open')
  and ($rule = '' or rule = $rule)
  and ($severity = '' or severity = $severity)
order by open_since, severity, rule, subject;
