-- grain: one row per target whose rows change, and one per target with an invalid key (a missing or a repeated one)
select
  target,
  count(*) filter (where stage_row is null) as deleted,
  count(*) filter (where history_row is null) as inserted,
  count(*) filter (where stage_row is not null and history_row is not null) as changed,
  false as has_invalid_key,
from delta_{{table}}
group by target
union all
select distinct target, 0, 0, 0, true
from (
  select target
  from stage_{{table}}
  group by {{checkedKey}}
  having count(*) > 1 or {{keyMissing}}
);
