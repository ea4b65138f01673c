-- parameters: $run_id, $as_of, $selections: a JSON list of {target, sources} as the configuration has them; $targets: the
-- configured ones, of all shards
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
  or exists (
    from (
      select unnest(from_json($selections, '[{"target": "varchar", "sources": ["varchar"]}]')) as selection
    )
    where
      selection.target = source_state.target
      and not list_contains(selection.sources, source)
  );
