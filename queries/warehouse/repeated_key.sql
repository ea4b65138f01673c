-- A key that stands twice; the load is refused when there is one. {{rows}}: the stage, or what a target holds.
select {{key}}, count(*) as times
from {{rows}}
group by {{key}}
having count(*) > 1
limit 1;
