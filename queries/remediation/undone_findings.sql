-- grain: one row per finding of an undo that is to be accepted: it is new or open, and was not accepted since. $ids, $undone_at
select finding_id
from findings
where
  list_contains($ids::varchar[], finding_id)
  and state in ('new', 'open')
  and finding_id not in (
    select finding_id
    from finding_events
    where reason = 'accepted' and changed_at >= $undone_at::timestamptz
  )
order by finding_id;
