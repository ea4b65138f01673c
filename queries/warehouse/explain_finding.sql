-- grain: one row per finding whose ID begins with $id
select
  findings.*,
  (
    select list({ 'at': changed_at, 'reason': reason, 'note': note } order by changed_at, reason)
    from finding_events
    where finding_events.finding_id = findings.finding_id and reason <> 'no longer new' -- the next run, not an event
  ) as events,
from findings
where starts_with(finding_id, $id)
order by finding_id
limit 4;
