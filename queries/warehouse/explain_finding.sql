-- grain: one row per finding whose ID begins with $id
select
  found.*,
  (
    select list_sort(list({ 'at': changed_at, 'reason': reason, 'note': note }))
    from finding_events
    where finding_events.finding_id = found.finding_id and reason <> 'no longer new' -- the next run, not an event
  ) as events,
from (from findings where starts_with(finding_id, $id) order by finding_id limit 4) as found
order by finding_id;
