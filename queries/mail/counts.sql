-- grain: one row: numbers of findings of the digest
select
  count(*) filter (where digest_state in ('new', 'open')) as current,
  count(*) filter (where digest_state in ('new', 'open') and severity = 'critical') as critical,
  count(*) filter (where digest_state = 'new') as "new",
  count(*) filter (where digest_state = 'open') as "open",
  count(*) filter (where digest_state = 'resolved') as resolved,
  count(*) filter (where digest_state = 'deleted') as deleted,
from mail_findings;
