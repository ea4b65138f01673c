-- grain: one row per standing finding, the longest open first, the first $most
-- parameters: $most
select severity, target, rule, title, opened_at, times_reopened
from mail_findings
where news in ('new', 'open')
order by opened_at, rank desc, target, rule, title, finding_id
limit $most;
