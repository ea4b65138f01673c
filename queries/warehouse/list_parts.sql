-- grain: one row per part of the lists that are new or changed, with the first and the last row of the stage
-- A part has {{bytes}} and its last list. `list_changes` and `list_fill` have the members of a part in memory: DuckDB cannot spill a list.
with
  lists as (
    select rowid as stage_row, strlen(list_text) as bytes
    from stage_{{table}}
    where rowid in (select stage_row from delta_{{table}} where stage_row is not null)
  ),
  sums as (
    select stage_row, (sum(coalesce(bytes, 0)) over (order by stage_row) - coalesce(bytes, 0)) // {{bytes}} as part
    from lists
  )
select min(stage_row) as first, max(stage_row) as last
from sums
group by part
order by first;
