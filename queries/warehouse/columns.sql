-- The columns that each table has now, for adding those that a newer version declares.
select table_name as table, column_name as name
from duckdb_columns()
where schema_name = 'main' and not internal;
