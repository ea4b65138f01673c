-- grain: one row per change of a finding of a subject that has a page
-- parameters: $as_of
select
  findings.subject_type,
  findings.target,
  findings.subject_id,
  events.changed_at as happened_at,
  events.state,
  events.severity,
  events.reason,
  events.note,
  findings.rule,
  findings.title,
from finding_events as events
join subject_findings as findings using (finding_id)
semi join subject_pages as pages
  on
    pages.subject_type = findings.subject_type
    and pages.target = findings.target
    and pages.subject_id = findings.subject_id
where events.changed_at <= $as_of::timestamptz and events.reason <> 'no longer new' -- the next run, not an event
order by events.changed_at desc, findings.rule, findings.finding_id
