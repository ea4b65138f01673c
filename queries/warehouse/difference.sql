-- grain: as the view `changes`: the net difference of two times
-- {{changes}}: the union of table_changes.sql for every table
from (
{{changes}}
) as difference
order by "table", target, name, key, change, "column";
