-- grain: one row: the statistics of a file as the log of a Delta table has them. No other column has bounds: the views
-- over a table filter what a window over all its rows leaves, so that no engine could skip a file.
select
  json_object(
    'numRecords', count(*),
    'minValues', json_object('op', min(op)),
    'maxValues', json_object('op', max(op)),
    'nullCount', json_object('op', 0)
  )::varchar as stats
from read_parquet({{file}}, hive_partitioning = false);
