-- An empty stage with the columns of a table.
create or replace temp table stage_{{table}} as
select {{columns}}
from {{table}}_history
limit 0;
