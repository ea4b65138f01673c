-- Adds the rows of a load query to a stage. Absent values are null, never an empty string, JSON null or an empty object.
-- {{nulls}}: the columns of the table, of which the query may lack some
insert into stage_{{table}} by name
select {{columns}}
from (
  select {{nulls}} where false
  union all by name
  ({{rows}})
) as loaded;
