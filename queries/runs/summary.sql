-- grain: at most one row: the last run that was started until $as_of, and the start of the next one
select
  run_id,
  coalesce(job, 'pull') as job,
  status,
  target,
  started_at,
  finished_at,
  date_diff('second', started_at, finished_at) as seconds,
  (select count(*) from pulls where pulls.run_id = runs.run_id and status not in ('left-out', 'unsupported')) as pulls,
  (select count(*) from pulls where pulls.run_id = runs.run_id and status = 'complete') as complete,
  lead(started_at) over (order by started_at) as next_at,
from runs
qualify started_at <= $as_of::timestamptz
order by started_at desc
limit 1;
