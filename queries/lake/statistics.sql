-- grain: one row: the number of rows of a file, and its statistics as the log of a Delta table has them
-- {{least}}, {{greatest}}, {{nulls}}: for each field its name and its bounds, where null is none, and its number of nulls
select
  count(*) as records,
  json_object(
    'numRecords', count(*),
    'minValues', json_merge_patch('{}', json_object({{least}})),
    'maxValues', json_merge_patch('{}', json_object({{greatest}})),
    'nullCount', json_object({{nulls}})
  )::varchar as stats
from read_parquet({{file}}, hive_partitioning = false);
