-- grain: one row per event of a finding that goes: a later one replaced it before the start
-- The state of each finding at the start stays, since when it has it, when it was opened, and all events of an unresolved one since then.
-- {{old}}: the result; parameters: $start
create or replace temp table {{old}} as
with
  told as (
    select
      rowid as old_row,
      finding_id,
      changed_at,
      -- what an event tells: the severity, the state too, the opening too
      case when reason = 'severity changed' then 0 when reason in ('baseline', 'found', 'reopened') then 2 else 1 end as tells,
    from finding_events
  ),
  numbered as (
    select
      old_row,
      finding_id,
      changed_at,
      case tells
        when 0 then lead(changed_at) over (partition by finding_id order by changed_at, old_row)
        when 1 then lead(changed_at) over (partition by finding_id, tells > 0 order by changed_at, old_row)
        else lead(changed_at) over (partition by finding_id, tells > 1 order by changed_at, old_row)
      end as next_at,
    from told
  )
select old_row
from numbered
left join findings using (finding_id)
where
  next_at <= $start::timestamptz
  and (findings.state is null or findings.state = 'resolved' or opened_at is null or changed_at < opened_at);
