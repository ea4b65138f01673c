-- grain: the last run that was recorded as ended
select run_id
from runs
where finished_at is not null
order by started_at desc, run_id desc
limit 1;
