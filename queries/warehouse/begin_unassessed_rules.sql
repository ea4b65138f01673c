-- Records what this run should have assessed and could not: a rule for a target, or for some parts of its sources. A period that lasts
-- keeps its beginning.
-- parameters: $as_of
merge into unassessed_rules
using (
  select
    assessments.target,
    assessments.rule,
    evaluated_rules.worst as severity,
    if(assessments.assessed, assessments.parts, coalesce(assessments.why, 'unknown')) as reason,
  from assessments
  join evaluated_rules using (rule)
  where assessments.tried and (not assessments.assessed or assessments.parts is not null)
) as unassessed
on
  unassessed_rules.rule = unassessed.rule
  and unassessed_rules.target = unassessed.target
  and unassessed_rules.ended_at is null
when matched then update set reason = unassessed.reason, severity = unassessed.severity
when not matched then insert (target, rule, severity, reason, since)
  values (unassessed.target, unassessed.rule, unassessed.severity, unassessed.reason, $as_of::timestamptz);
