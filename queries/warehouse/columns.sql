-- The columns of each table.
select table_name as table, column_name as name
from duckdb_columns()
where schema_name = 'main' and not internal;
