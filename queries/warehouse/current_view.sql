-- The current rows of a table, without those of targets that have its source left out: nobody watches them.
-- {{table}}, {{columns}}: the table and its columns; {{source}}: the source that fills it, as a literal.
create or replace view {{table}} as
select {{columns}}
from {{table}}_history
where valid_to is null and target not in (from left_out_targets({{source}}, 'infinity'::timestamptz));
