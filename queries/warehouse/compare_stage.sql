-- grain: one row per key that was inserted, changed or deleted; stage_row and history_row point at the two versions
-- {{digest}}: a hash of the columns whose change makes a version, and not of those that a service computes.
-- {{targets}}: the targets of the stage, as literals
-- {{isUnknown}}: true for rows of a part that could not be listed, which are left as they are; {{isHeld}}: for staged rows that such a part has.
create or replace temp table delta_{{table}} as
with
  stage as (
    select rowid as stage_row, {{key}}, {{digest}} as content
    from stage_{{table}} as staged
    where not ({{isUnknown}}) and not ({{isHeld}})
  ),
  open as (
    select rowid as history_row, {{key}}, {{digest}} as content
    from {{history}}
    where target in ({{targets}}) and valid_to is null and not ({{isUnknown}})
  )
select stage_row, history_row, coalesce(stage.target, open.target) as target
from stage
full join open on {{sameKey}}
where
  stage_row is null
  or history_row is null
  or stage.content <> open.content;
