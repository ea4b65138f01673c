-- grain: one row: whether the table exists; a warehouse of 0.1.0 gets it with its next run
select count(*) > 0 as present
from duckdb_tables()
where table_name = 'ledger_head';
