-- grain: one row per change of a finding of a subject that has a page
-- parameters: $as_of
select
  findings.subject_type,
  findings.target,
  findings.subject_id,
  events.changed_at as happened_at,
  'finding' as kind,
  concat(
    case events.reason
      when 'baseline' then 'Finding in the first assessment'
      when 'found' then 'New finding'
      when 'gone' then 'Finding resolved'
      when 'deleted' then 'Finding ended with its subject, which was deleted'
      when 'reopened' then 'Finding returned'
      when 'severity changed' then 'Severity of a finding changed'
      when 'accepted' then 'Finding accepted'
      when 'acceptance ended' then 'Acceptance of a finding ended'
      when 'got worse' then 'Accepted finding got worse'
      else events.reason
    end,
    format(': {} ({})', findings.rule, events.severity)
  ) as title,
  concat_ws('; ', left(told.title, 1000), events.note) as note,
from finding_events as events
join subject_findings as findings using (finding_id)
join findings as told using (finding_id)
semi join subject_pages as pages
  on
    pages.subject_type = findings.subject_type
    and pages.target = findings.target
    and pages.subject_id = findings.subject_id
where events.changed_at <= $as_of::timestamptz and events.reason <> 'no longer new' -- the next run, not an event
order by events.changed_at desc, findings.rule, findings.finding_id
