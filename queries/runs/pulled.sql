-- grain: one row per pull of the run
-- title: What was pulled
-- order: 2
-- empty: The run pulled nothing.
-- parameters: $run_id
select
  target,
  source,
  status,
  rows,
  inserted as added,
  changed,
  deleted as removed,
  requests,
  throttled,
  date_diff('second', started_at, finished_at) as seconds,
from pulls
where run_id = $run_id and status not in ('left-out', 'unsupported')
order by status = 'complete', target, source
limit 500;
