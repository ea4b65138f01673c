-- grain: one row: the first pull of the warehouse, and the last run that pulled at or before a time
select
  min(as_of) filter (status <> 'left-out') as first_pull,
  max_by(run_id, as_of) filter (as_of <= $at::timestamptz) as run_id,
  max(as_of) filter (as_of <= $at::timestamptz) as as_of,
from pulls;
