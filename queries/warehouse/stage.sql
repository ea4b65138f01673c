-- An empty stage. {{columns}}: the columns with the types of the table; {{nulls}}: their names
create or replace temp table stage_{{table}} as
select {{columns}}
from (select {{nulls}}) as loaded
limit 0;
