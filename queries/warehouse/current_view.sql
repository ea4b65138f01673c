-- The current rows of a table.
-- {{table}}, {{columns}}: the table and its columns.
create or replace view {{table}} as
select {{columns}}
from {{table}}_history
where valid_to is null;
