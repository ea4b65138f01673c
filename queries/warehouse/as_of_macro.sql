-- The rows of a table as of a time, without those of targets that had its source left out.
-- {{table}}, {{columns}}: the table and its columns; {{source}}: the source that fills it, as a literal.
create or replace macro {{table}}_at(at_time) as table
select {{columns}}
from {{table}}_history
where
  valid_from <= at_time::timestamptz
  and (valid_to is null or valid_to > at_time::timestamptz)
  and target not in (from left_out_targets({{source}}, at_time))
  and history_reaches(at_time::timestamptz);
