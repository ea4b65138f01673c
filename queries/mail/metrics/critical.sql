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
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where was_open), null) as before,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where digest_state = 'new' and change <> 'returned'), null) as added,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where digest_state = 'new' and change = 'returned'), null) as returned,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where digest_state = 'resolved'), null) as resolved,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where digest_state = 'deleted'), null) as deleted,
from (from mail_findings where severity = 'critical');
