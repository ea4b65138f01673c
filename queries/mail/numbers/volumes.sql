-- order: 60
-- report: storage
-- label: volumes in trouble
-- one: volume in trouble
-- many: volumes in trouble
-- grain: one row; none where the rules were never assessed for a whole target of the digest
select
  count(*) filter (where news in ('new', 'open')) as value,
  if($since::timestamptz is null, null, count(*) filter (where stood_before)) as before,
  if($since::timestamptz is null, null, count(*) filter (where news = 'new')) as appeared,
  if($since::timestamptz is null, null, count(*) filter (where news = 'resolved')) as gone,
from (from mail_findings where rule in ('volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume'))
having exists (
  from rule_evaluations as assessed
  join mail_routes as routes using (target)
  where routes.project is null and assessed.rule in ('volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume')
);
