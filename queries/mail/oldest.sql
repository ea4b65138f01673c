-- grain: one row per new or open finding, the longest open first, the first $max_rows
-- parameters: $as_of; $max_rows
select severity, title, concat(target, ': ', rule) as location, epoch_ms($as_of::timestamptz) - epoch_ms(opened_at) as age_ms
from mail_findings
where digest_state in ('new', 'open')
order by opened_at, rank desc, target, rule, title, finding_id
limit $max_rows;
