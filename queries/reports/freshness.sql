-- grain: one row per target and source of $sources; a source that no target ever pulled has one row without target
-- $sources: JSON list of names; $as_of; $fresh_at: the moment that age is judged at; $stale_hours
with
  wanted as (select unnest(from_json($sources, '["VARCHAR"]')) as source)
select
  state.target,
  wanted.source,
  coalesce(state.status, 'never') as status,
  state.as_of,
  state.tried_at,
  state.error,
  coalesce(
    state.status <> 'complete' or state.as_of < $fresh_at::timestamptz - to_seconds($stale_hours::double * 3600),
    false
  ) as stale,
from wanted
left join source_state_at($as_of) as state using (source)
order by stale desc, wanted.source, state.target;
