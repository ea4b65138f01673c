-- grain: one row per target that has rows now, or whose rows change or have an invalid key: how many rows it has, and how many change
-- unknown: rows of parts that could not be listed, which are left as they are; gone: rows of what was not asked for any more
-- invalid_key: a key that is missing (with all rows that have none), else one that several rows have, with the number of its rows.
-- {{unique}} is the same in such rows; numbered_key: one for which {{names}} is the same.
with
  open as (
    select target, count(*) as held, count(*) filter (where is_unknown) as unknown, count(*) filter (where is_gone) as gone
    from (
      -- a search in many parts is a join here, and one part after the other in a filter
      select target, ({{isUnknown}}) as is_unknown, ({{isGone}}) as is_gone
      from {{history}}
      where target in ({{targets}}) and valid_to is null
    )
    group by target
  ),
  changes as (
    select
      target,
      count(*) filter (where stage_row is null) as deleted,
      count(*) filter (where history_row is null) as inserted,
      count(*) filter (where stage_row is not null and history_row is not null) as changed,
    from delta_{{table}}
    group by target
  ),
  keys as (
    select {{names}}, {{keyMissing}} as is_missing, count(*) as times
    from stage_{{table}}
    group by {{unique}}
    having count(*) > 1 or {{keyMissing}}
  ),
  invalid as (
    select * replace (if(is_missing, sum(times) over (partition by target, is_missing), times) as times)
    from keys
    qualify row_number() over (partition by target order by is_missing desc, {{names}}) = 1
  ),
  repeated as (
    select {{names}}, count(*) as times
    from stage_{{table}}
    where {{isNumbered}}
    group by {{names}}
    having count(*) > 1
  ),
  numbered as (
    from repeated
    qualify row_number() over (partition by target order by {{names}}) = 1
  )
select
  target,
  coalesce(held, 0) as held,
  coalesce(unknown, 0) as unknown,
  coalesce(gone, 0) as gone,
  coalesce(deleted, 0) as deleted,
  coalesce(inserted, 0) as inserted,
  coalesce(changed, 0) as changed,
  if(invalid.times > 0, invalid, null) as invalid_key,
  if(numbered.times > 0, numbered, null) as numbered_key,
from open
full join changes using (target)
full join invalid using (target)
full join numbered using (target);
