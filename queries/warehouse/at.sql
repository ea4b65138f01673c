-- The rows of a table as they were known at a moment.
-- {{table}}, {{columns}}: the table and its columns.
create or replace macro {{table}}_at(moment) as table
select {{columns}}
from {{table}}_history
where
  valid_from <= moment::timestamptz
  and (valid_to is null or valid_to > moment::timestamptz);
