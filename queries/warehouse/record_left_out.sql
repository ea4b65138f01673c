-- parameters: $run_id, $as_of, $left_out: a JSON list of {target, source}; $targets: the configured ones, of all shards
-- Ends the state of sources that the configuration leaves out, and of targets that it has no more, until they are pulled again.
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
where
  not list_contains($targets::varchar[], target)
  or (target, source) in (
    select (left_out.target, left_out.source)
    from (select unnest(from_json($left_out, '[{"target": "varchar", "source": "varchar"}]')) as left_out)
  );
