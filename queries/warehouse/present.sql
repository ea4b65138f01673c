-- The present of a table: the rows of its history that hold.
-- {{table}}, {{columns}}: the table and its columns.
create or replace view {{table}} as
select {{columns}}
from {{table}}_history
where valid_to is null;
