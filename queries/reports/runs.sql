-- grain: one row per run started until $as_of, the newest first
select
  run_id,
  job,
  status,
  started_at,
  finished_at,
from runs
where started_at <= $as_of::timestamptz
order by started_at desc, run_id desc
limit 30;
