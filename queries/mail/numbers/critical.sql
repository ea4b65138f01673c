-- order: 91
-- subject: 35
-- report: overview
-- label: of them critical
-- one: critical
-- many: critical
-- grain: one row
-- parameters: $since
select
  count(*) filter (where news in ('new', 'open')) as value,
  if($since::timestamptz is null, null, count(*) filter (where stood_before)) as before,
  if($since::timestamptz is null, null, count(*) filter (where news = 'new')) as appeared,
  if($since::timestamptz is null, null, count(*) filter (where news = 'resolved')) as gone,
from (from mail_findings where severity = 'critical');
