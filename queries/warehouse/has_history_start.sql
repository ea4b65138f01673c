-- grain: one row: whether the warehouse is of a version that removes history
select count(*) > 0 as has_start
from duckdb_tables()
where table_name = 'history_start' and not temporary;
