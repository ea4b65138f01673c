-- order: 5
-- subject: 5
-- report: overview
-- label: critical findings
-- one: critical
-- many: critical
-- grain: one row
-- parameters: $since
select
  count(*) filter (where digest_state in ('new', 'open')) as value,
  if($since::timestamptz is null, null, count(*) filter (where was_open)) as before,
  if($since::timestamptz is null, null, count(*) filter (where digest_state = 'new')) as added,
  if($since::timestamptz is null, null, count(*) filter (where digest_state = 'resolved')) as resolved,
from (from mail_findings where severity = 'critical');
