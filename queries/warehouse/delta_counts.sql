-- How many rows of a target's table change.
select
  count(*) filter (where stage_row is null) as deleted,
  count(*) filter (where history_row is null) as inserted,
  count(*) filter (where stage_row is not null and history_row is not null) as changed,
from delta_{{table}};
