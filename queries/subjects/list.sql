-- grain: one row per subject that has a page, by kind and name
select
  subject_type as type,
  target,
  subject_id as id,
  coalesce(subject_name, subject_id) as name,
  place,
  is_present as "isPresent",
  gone_at as "goneAt",
  changed_at as "changedAt",
  critical,
  open_findings as "openFindings",
  accepted,
  rules,
from subject_pages
order by subject_type, lower(subject_name), target, subject_id
