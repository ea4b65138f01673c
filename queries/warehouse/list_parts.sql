-- grain: one row per part of the lists that change, with the first and the last row of its delta
-- has_new, has_known: whether it has lists of new rows, and of others
-- A part has {{bytes}} and its last list: its members are in memory, and DuckDB cannot spill a list.
with
  lists as (
    select delta.rowid as delta_row, delta.history_row, strlen(list_text) as bytes
    from delta_{{table}} as delta
    left join stage_{{table}} as stage on stage.rowid = delta.stage_row
  ),
  sums as (
    select delta_row, history_row is null as is_new, (sum(coalesce(bytes, 0)) over (order by delta_row) - coalesce(bytes, 0)) // {{bytes}} as part
    from lists
  )
select min(delta_row) as first, max(delta_row) as last, bool_or(is_new) as has_new, bool_or(not is_new) as has_known
from sums
group by part
order by first;
