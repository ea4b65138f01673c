-- The columns that a table has now, for adding those that a newer version declares.
select column_name as name
from duckdb_columns()
where schema_name = 'main' and not internal and table_name = $table;
