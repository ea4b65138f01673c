-- Rows without their key; the load is refused when there is one. {{rows}}: the stage, or what a target holds.
select count(*) as rows
from {{rows}}
where {{keyMissing}};
