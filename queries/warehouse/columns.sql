-- grain: one row per column
select table_name as table, column_name as name
from duckdb_columns()
where schema_name = 'main' and not internal;
