-- A key that stands twice in the stage; the load is refused when there is one.
select {{key}}, count(*) as times
from stage_{{table}}
group by {{key}}
having count(*) > 1
limit 1;
