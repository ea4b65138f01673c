-- grain: one row per pull that goes: a later one, until the start, says as much of its source
-- The last complete pull says what is known, and how old it is, however long the source fails. So does a partial one after it, and the
-- last state: without one that leaves a source out, rows that nobody watches would count again.
-- {{old}}: the result; parameters: $start
create or replace temp table {{old}} as
with
  ranked as (
    select rowid as old_row, target, source, as_of, case status when 'complete' then 2 when 'partial' then 1 else 0 end as rank
    from pulls
    where as_of <= $start::timestamptz
  )
select old_row
from ranked
qualify
  as_of < $start::timestamptz
  and max(rank) over (partition by target, source order by as_of, old_row rows between 1 following and unbounded following) >= rank;
