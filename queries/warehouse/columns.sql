-- grain: one row per column, in the order of its table
select table_name as table, column_name as name, data_type as type, coalesce(comment, '') as comment
from duckdb_columns()
where schema_name = 'main' and not internal
order by table_name, column_index;
