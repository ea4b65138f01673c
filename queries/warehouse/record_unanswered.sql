-- parameters: $run_id, $as_of, $unanswered: a JSON list of {target, source}
-- Records the sources that the service of their target cannot answer: rules that need them are not assessed.
insert into pulls by name
select
  $run_id as run_id,
  unanswered.target,
  unanswered.source,
  'unsupported' as status,
  'only the explorer tells it, which the service does not have (explorer: workspaces)' as error,
  $as_of::timestamptz as started_at,
  $as_of::timestamptz as finished_at,
  $as_of::timestamptz as as_of,
from (select unnest(from_json($unanswered, '[{"target": "varchar", "source": "varchar"}]')) as unanswered);
