-- The rows of a load query that are new or changed, as a part of other statements. {{columns}}: the values that the table stores.
select *
from (
  select {{columns}}
  from ({{rows}}) as loaded
) as loaded
semi join (
  select {{key}}
  from stage_{{table}}
  where rowid in (select stage_row from delta_{{table}} where stage_row is not null)
) as changed on {{sameKey}}
