-- grain: one row: the number of rows of a file, and the least and greatest values of some fields
select count(*) as records, {{aggregates}}
from read_parquet({{file}}, hive_partitioning = false);
