-- The rows of a table of the lake from its data files. {{typed}}: every field with its type, for files that lack it
select {{fields}}
from (
  select {{typed}}
  where false
  union all by name
  select *
  from read_parquet([{{files}}], union_by_name = true, hive_partitioning = false)
)
