-- grain: one row per target and source of $sources; a source that was never pulled has one row without target
-- parameters: $sources: JSON list of names; $as_of; $staleness_at: time at which the age is evaluated; $stale_hours
with
  wanted as (select unnest(from_json($sources, '["VARCHAR"]')) as source)
select
  state.target,
  wanted.source,
  -- what a service cannot answer and never did is not stale
  coalesce(if(state.status = 'unsupported' and state.as_of is null, null, state.status), 'never') as status,
  state.as_of,
  state.tried_at,
  state.error,
  coalesce(
    (state.status <> 'complete' and not (state.status = 'unsupported' and state.as_of is null)) or state.as_of < $staleness_at::timestamptz - to_seconds($stale_hours::double * 3600),
    false
  ) as stale,
from wanted
left join source_state_at($as_of) as state using (source)
order by stale desc, wanted.source, state.target;
