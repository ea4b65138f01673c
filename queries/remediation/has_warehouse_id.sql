-- grain: one row: whether the table of the warehouse ID exists, which early versions did not create
select count(*) > 0 as present
from duckdb_tables()
where table_name = 'warehouse_identity';
