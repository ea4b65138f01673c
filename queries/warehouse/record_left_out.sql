-- parameters: $run_id, $as_of, $left_out: a JSON list of {target, source}
-- Ends the state of sources that the configuration leaves out, until they are pulled again.
insert into pulls by name
select
  $run_id as run_id,
  target,
  source,
  'left-out' as status,
  $as_of::timestamptz as started_at,
  $as_of::timestamptz as finished_at,
  $as_of::timestamptz as as_of,
from source_state
semi join (
  select unnest(from_json($left_out, '[{"target": "varchar", "source": "varchar"}]'), recursive := true)
) as left_out
  using (target, source);
