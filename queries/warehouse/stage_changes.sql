-- grain: one row per target that has rows now, or whose rows change: how many rows it has, and how many change
-- unknown: rows of parts that could not be listed, which are left as they are
with
  open as (
    select target, count(*) as held, count(*) filter (where {{isUnknown}}) as unknown
    from {{history}}
    where target in ({{targets}}) and valid_to is null
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
  )
select
  target,
  coalesce(held, 0) as held,
  coalesce(unknown, 0) as unknown,
  coalesce(deleted, 0) as deleted,
  coalesce(inserted, 0) as inserted,
  coalesce(changed, 0) as changed,
from open
full join changes using (target);
