-- Remembers what was assessed, so that the next evaluation is no baseline.
merge into finding_assessments
using (from find_assessed where assessed) as now
on finding_assessments.rule = now.rule and finding_assessments.target = now.target
when matched then update set last_assessed_at = $as_of::timestamptz
when not matched then insert (target, rule, first_assessed_at, last_assessed_at)
  values (now.target, now.rule, $as_of::timestamptz, $as_of::timestamptz);
