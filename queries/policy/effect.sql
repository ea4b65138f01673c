-- grain: one row per version that another policy flags, no longer flags, or cannot be compared with, in the order of the rules
-- parameters: $severities: JSON, rule → the severity of its rows without one
with
  before as (select *, coalesce(unknown, false) as unsure, coalesce(subject_id, '') as subject from flagged_before),
  after as (select *, rowid as place, coalesce(unknown, false) as unsure, coalesce(subject_id, '') as subject from candidates),
  changed as (
    select if(unsure, 'unknown', 'added') as effect, * from after anti join before using (rule, target, subject, unsure)
    union all by name
    select 'ended' as effect, * from before anti join after using (rule, target, subject, unsure) where not unsure
  )
select
  effect,
  rule,
  target,
  coalesce(severity, json_extract_string($severities, concat('$."', rule, '"'))) as severity,
  subject_id,
  title,
from changed
order by rule, place;
