-- grain: the last run of the warehouse, also one that is under way
select run_id
from runs
order by started_at desc, run_id desc
limit 1;
