-- The table as of the previous complete pull, seen from a time. Each target has pulls of its own.
-- {{table}}, {{columns}}: the table and its columns; {{source}}: the source that fills it, as a literal.
create or replace macro {{table}}_before(at_time) as table
select {{qualified}}
from {{table}}_history as h
join source_state_at(at_time) as p on p.target = h.target and p.source = {{source}}
where
  h.valid_from <= p.previous_as_of
  and (h.valid_to is null or h.valid_to > p.previous_as_of);
