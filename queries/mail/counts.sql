-- grain: one row: what the digest's findings come to
select
  count(*) filter (where news in ('new', 'open')) as standing,
  count(*) filter (where news in ('new', 'open') and severity = 'critical') as critical,
  count(*) filter (where news = 'new') as "new",
  count(*) filter (where news = 'open') as "open",
  count(*) filter (where news = 'resolved') as resolved,
from mail_findings;
