-- A source that an interrupted run had loaded already: its pull counts for the run that continues it.
insert into pulls by name
select
  * replace (
    $run_id as run_id,
    $now::timestamptz as started_at,
    $now::timestamptz as finished_at,
    0 as requests,
    0 as retries,
    0 as waited_ms,
    0 as bytes,
    0 as turned_away
  )
from pulls
where target = $target and source = $source and status = 'complete' and landed_at = $landed_at::timestamptz
order by as_of desc
limit 1
returning rows, expected_rows;
