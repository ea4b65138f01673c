-- grain: one row per new or open finding, the longest open first, the first $max_rows
-- parameters: $max_rows
select severity, target, rule, title, opened_at, times_reopened
from mail_findings
where digest_state in ('new', 'open')
order by opened_at, rank desc, target, rule, title, finding_id
limit $max_rows;
