-- grain: one row per macro `T_at` of the published file: one that this version knows may be missing until the next run
select distinct function_name as name
from duckdb_functions()
where not internal and function_type = 'table_macro' and ends_with(function_name, '_at')
