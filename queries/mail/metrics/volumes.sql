-- order: 60
-- report: storage
-- label: volumes with problems
-- one: volume with problems
-- many: volumes with problems
-- sources: volumes, external_volumes
-- grain: one row; none where the rules were never assessed for a whole target of the digest
select
  count(*) filter (where digest_state in ('new', 'open')) as value,
  if(exists (from rule_evaluations where first_assessed_at <= $since::timestamptz and rule in ('volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume')), count(*) filter (where was_open), null) as before,
  count(*) filter (where change = 'assessed for the first time') as first_assessed,
  count(*) filter (where digest_state = 'new' and change <> 'returned') as added,
  count(*) filter (where digest_state = 'new' and change = 'returned') as returned,
  count(*) filter (where digest_state = 'resolved') as resolved,
  count(*) filter (where digest_state = 'deleted') as deleted,
  count(*) filter (where was_open and change = 'no longer watched') as unwatched,
from (from mail_findings where rule in ('volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume'))
having exists (
  from rule_evaluations as assessed
  join mail_routes as routes using (target)
  where routes.project is null and assessed.rule in ('volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume')
);
