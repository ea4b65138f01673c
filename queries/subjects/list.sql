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
  rules,
  concat(
    'Not reported since ' || strftime(gone_at, '%Y-%m-%d %H:%M') || '. ',
    if(open_findings = 0, 'No open finding', format('{:,} open {}', open_findings, if(open_findings = 1, 'finding', 'findings'))),
    case when critical = 0 then '' when critical = open_findings then ', critical' else format(', {:,} of them critical', critical) end,
    if(accepted > 0, format(', {:,} accepted', accepted), ''),
    '.'
  ) as summary,
from subject_pages
order by subject_type, lower(subject_name), target, subject_id
