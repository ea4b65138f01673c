-- grain: one row per name of a table or view that this connection can read
select distinct table_name as name
from information_schema.tables
