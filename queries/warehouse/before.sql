-- The rows of a table as the complete pull before the last one (seen from a moment) left them, each target by its own pulls.
-- {{table}}, {{columns}}: the table and its columns; {{source}}: the source that fills it, as a literal.
create or replace macro {{table}}_before(moment) as table
select {{qualified}}
from {{table}}_history as h
join source_state_at(moment) as p on p.target = h.target and p.source = {{source}}
where
  h.valid_from <= p.previous_as_of
  and (h.valid_to is null or h.valid_to > p.previous_as_of);
