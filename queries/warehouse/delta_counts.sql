-- How much of a target's table changes: rows that went for good, rows that stood before, rows that will stand.
select
  count(*) filter (where history_row is not null and stage_row is null) as gone,
  count(*) filter (where stage_row is not null and history_row is null) as appeared,
  count(*) filter (where stage_row is not null and history_row is not null) as changed,
  (select count(*) from {{history}} where target = $target and valid_to is null) as rows_before,
  (select count(*) from stage_{{table}}) as rows_after,
from delta_{{table}};
