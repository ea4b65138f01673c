-- Rows of the stage without their key; the load is refused when there is one.
select count(*) as rows
from stage_{{table}}
where {{keyMissing}};
