-- grain: one row: whether the warehouse has the table at all, which one from before it has not
select count(*) > 0 as present
from duckdb_tables()
where table_name = 'warehouse_identity';
