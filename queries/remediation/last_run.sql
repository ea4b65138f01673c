-- grain: the last run of the warehouse, including one in progress
select run_id
from runs
order by started_at desc, run_id desc
limit 1;
