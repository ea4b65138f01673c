-- Rows without a key, of which the load allows none. {{rows}}: the stage, or the current rows of a target.
select count(*) as rows
from {{rows}}
where {{keyMissing}};
