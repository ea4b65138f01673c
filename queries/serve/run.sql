-- grain: at most one row: when a run was started. parameters: $run_id
select started_at
from runs
where run_id = $run_id;
