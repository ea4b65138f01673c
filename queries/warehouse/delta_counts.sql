-- How many rows of a target's table change, and how many it has before and after.
select
  count(*) filter (where history_row is not null and stage_row is null) as deleted,
  count(*) filter (where stage_row is not null and history_row is null) as inserted,
  count(*) filter (where stage_row is not null and history_row is not null) as changed,
  (select count(*) from {{history}} where target = $target and valid_to is null) as rows_before,
  (select count(*) from stage_{{table}}) as rows_after,
from delta_{{table}};
