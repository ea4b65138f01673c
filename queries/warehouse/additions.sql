-- grain: one row per table or column that an update added
select table_name as table, column_name as column, added_after as after
from additions
order by all;
