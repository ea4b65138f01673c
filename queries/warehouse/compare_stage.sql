-- grain: one row per key that was inserted, changed or deleted; stage_row and history_row point at the two versions
-- {{compared}}: the columns whose change makes a version, and not those that a service computes.
-- Rows are compared by a 64-bit hash of their columns: one number per row in memory, however wide the table.
create or replace temp table delta_{{table}} as
with
  stage as (
    select rowid as stage_row, {{key}}, hash({{compared}}) as content
    from stage_{{table}}
  ),
  open as (
    select rowid as history_row, {{key}}, hash({{compared}}) as content
    from {{history}}
    where target = $target and valid_to is null
  )
select stage_row, history_row
from stage
full join open on {{sameKey}}
where
  stage_row is null
  or history_row is null
  or stage.content <> open.content;
