-- grain: one row per finding of a subject that has a page: open ones first, the worst first
select
  placed.*,
  pages.subject_name,
  left(findings.title, 1000) as title,
  if(length(findings.detail::varchar) > 100000, json_object('detail', 'is longer than a page shows'), findings.detail) as detail,
  findings.first_seen,
  if(placed.state in ('new', 'open'), coalesce(if(findings.opened_at > $as_of::timestamptz, placed.opened_at, findings.opened_at), findings.first_seen), null) as opened_at,
  findings.times_reopened,
  if(findings.unassessed_since <= $as_of::timestamptz, findings.unassessed_since, null) as unassessed_since,
  if(placed.state = 'accepted', findings.accepted_owner, null) as accepted_owner,
  if(placed.state = 'accepted', findings.accepted_until, null) as accepted_until,
  if(placed.state = 'accepted', findings.accepted_reason, null) as accepted_reason,
from subject_findings as placed
join subject_pages as pages
  on
    pages.subject_type = placed.subject_type
    and pages.target = placed.target
    and pages.subject_id = placed.subject_id
join findings on findings.finding_id = placed.finding_id
order by
  list_position(['new', 'open', 'accepted', 'resolved'], placed.state),
  list_position(['critical', 'warning', 'info'], placed.severity),
  placed.state_since desc,
  placed.rule,
  placed.finding_id
