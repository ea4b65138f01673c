-- Every stored table.
select table_name as name
from duckdb_tables()
where not internal and not temporary
order by table_name;
