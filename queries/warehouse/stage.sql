-- An empty stage of a table's shape.
create or replace temp table stage_{{table}} as
select {{columns}}
from {{table}}_history
limit 0;
