-- grain: one row per event of a finding that goes: a later one replaced it before the start
-- The state of each finding at the start stays, and all events of an unresolved one since it was opened.
-- {{old}}: the result; parameters: $start
create or replace temp table {{old}} as
with
  numbered as (
    select rowid as old_row, finding_id, changed_at, lead(changed_at) over (partition by finding_id order by changed_at, rowid) as next_at
    from finding_events
  )
select old_row
from numbered
left join findings using (finding_id)
where
  next_at <= $start::timestamptz
  and (findings.state is null or findings.state = 'resolved' or opened_at is null or changed_at < opened_at);
