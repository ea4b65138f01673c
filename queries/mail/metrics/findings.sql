-- order: 90
-- report: overview
-- label: open findings
-- grain: one row
-- parameters: $since
select
  count(*) filter (where digest_state in ('new', 'open')) as value,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz), count(*) filter (where was_open), null) as before,
  count(*) filter (where change = 'assessed for the first time') as first_assessed,
  count(*) filter (where digest_state = 'new' and change <> 'returned') as added,
  count(*) filter (where digest_state = 'new' and change = 'returned') as returned,
  count(*) filter (where digest_state = 'resolved') as resolved,
  count(*) filter (where digest_state = 'deleted') as deleted,
  count(*) filter (where was_open and change = 'no longer watched') as unwatched,
from mail_findings;
