-- grain: one row per column of a table or view of the published file, in its order; none where the file does not have it yet
select column_name as name, data_type as type
from duckdb_columns()
where table_name = $name and not internal and database_name <> 'temp'
order by column_index
