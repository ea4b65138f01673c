-- The rows of a table as of a time.
-- {{table}}, {{columns}}: the table and its columns.
create or replace macro {{table}}_at(at_time) as table
select {{columns}}
from {{table}}_history
where
  valid_from <= at_time::timestamptz
  and (valid_to is null or valid_to > at_time::timestamptz)
  and history_reaches(at_time::timestamptz);
