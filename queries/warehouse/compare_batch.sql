-- grain: one row per key of some targets that was inserted, changed or deleted, as `compare_stage` finds them for one target
-- {{targets}}: the targets of the stage, as literals
create or replace temp table delta_{{table}} as
with
  stage as (
    select rowid as stage_row, {{key}}, {{digest}} as content
    from stage_{{table}}
  ),
  open as (
    select rowid as history_row, {{key}}, {{digest}} as content
    from {{history}}
    where target in ({{targets}}) and valid_to is null
  )
select stage_row, history_row, coalesce(stage.target, open.target) as target
from stage
full join open on {{sameKey}}
where
  stage_row is null
  or history_row is null
  or stage.content <> open.content;
