-- grain: one row per action of a checkpoint of a Delta table, as JSON
select to_json(checkpoint)::varchar as action
from read_parquet({{file}}) as checkpoint;
