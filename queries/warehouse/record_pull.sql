insert into pulls by name
select
  $run_id as run_id,
  $target as target,
  $source as source,
  $status as status,
  $rows::bigint as rows,
  $expected_rows::bigint as expected_rows,
  $requests::bigint as requests,
  $retries::bigint as retries,
  $throttle_wait_ms::bigint as throttle_wait_ms,
  $bytes::bigint as bytes,
  $started_at::timestamptz as started_at,
  $finished_at::timestamptz as finished_at,
  $error as error,
  $as_of::timestamptz as as_of,
  $extracted_at::timestamptz as extracted_at,
  $throttled::bigint as throttled,
  $note as note;
