-- grain: one row per table, with the names of its columns
select table_name as table, list(column_name) as names,
from duckdb_columns()
where schema_name = 'main' and not internal
group by table_name;
