-- grain: one row: whether the warehouse has a calendar, which one of an earlier version has not
select count(*) > 0 as has_deadlines
from duckdb_functions()
where function_name = 'deadlines_at';
