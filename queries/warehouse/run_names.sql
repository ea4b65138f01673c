-- Runs that already bear a name, or the name and a counter.
select count(*) as taken
from runs
where run_id = $run_id or starts_with(run_id, $run_id || '-');
