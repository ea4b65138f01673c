-- grain: the rows of a query in queries/deadlines, which a user may have written
-- {{scope}}: empty, or `temp ` for one connection; {{name}}: of the macro; {{query}}: with `at_time` for $as_of, and the thresholds as numbers
create or replace {{scope}}macro {{name}}(at_time) as table
select
  target::varchar as target,
  kind::varchar as kind,
  subject_id::varchar as subject_id,
  subject_name::varchar as subject_name,
  ends_at::timestamptz as ends_at,
  what_to_do::varchar as what_to_do,
from ({{query}}) as deadlines;
