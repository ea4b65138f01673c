-- The number of runs with an ID, or with the ID and a counter.
select count(*) as taken
from runs
where run_id = $run_id or starts_with(run_id, $run_id || '-');
