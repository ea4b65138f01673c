-- grain: one row per finding of a subject that has a page: open ones first, the worst first
select findings.*
from subject_findings as findings
semi join subject_pages as pages
  on
    pages.subject_type = findings.subject_type
    and pages.target = findings.target
    and pages.subject_id = findings.subject_id
order by
  list_position(['new', 'open', 'accepted', 'resolved'], state),
  list_position(['critical', 'warning', 'info'], severity),
  state_since desc,
  rule,
  finding_id
