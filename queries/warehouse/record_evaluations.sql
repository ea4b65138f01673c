-- Records what was assessed, so that the next evaluation is not a baseline.
merge into rule_evaluations
using (from assessments where assessed) as now
on rule_evaluations.rule = now.rule and rule_evaluations.target = now.target
when matched then update set last_assessed_at = $as_of::timestamptz
when not matched then insert (target, rule, first_assessed_at, last_assessed_at)
  values (now.target, now.rule, $as_of::timestamptz, $as_of::timestamptz);
