-- A repeated key, of which the load allows none. {{rows}}: the stage, or the current rows of a target.
select {{key}}, count(*) as times
from {{rows}}
group by {{key}}
having count(*) > 1
limit 1;
