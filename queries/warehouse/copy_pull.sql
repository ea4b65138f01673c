-- Copies the pull of a source that an interrupted run had loaded to the run that resumes it.
insert into pulls by name
select
  * replace (
    $run_id as run_id,
    $now::timestamptz as started_at,
    $now::timestamptz as finished_at,
    0 as requests,
    0 as retries,
    0 as throttle_wait_ms,
    0 as bytes,
    0 as throttled
  )
from pulls
where target = $target and source = $source and status in ('complete', 'partial') and extracted_at = $extracted_at::timestamptz
order by as_of desc
limit 1
returning rows, expected_rows;
