-- grain: one row per key that appeared, changed or went; stage_row and history_row point at the two versions
create or replace temp table delta as
with
  stage as (select rowid as stage_row, * from stage_{{table}}),
  open as (select rowid as history_row, * from {{history}} where target = $target and valid_to is null)
select stage_row, history_row
from stage
full join open on {{sameKey}}
where
  stage_row is null
  or history_row is null
  or row({{stageColumns}}) is distinct from row({{openColumns}});
