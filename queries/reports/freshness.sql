-- grain: one row per target and source of $sources; a source that was never pulled has one row without target. `lifecycle` is no source: it
-- has a row for each target of whose versions something is known
-- parameters: $sources: JSON list of names; $as_of; $staleness_at: time at which the age is evaluated, and after which nothing is fresh; $stale_hours; $lifecycle_days
with
  wanted as (select unnest(from_json($sources, '["VARCHAR"]')) as source),
  facts as (
    select
      target,
      min(data_as_of) as data_as_of,
      min(data_as_of) < ($staleness_at::timestamptz - to_seconds($lifecycle_days::double * 86400))::date as is_old,
    from version_support_at($as_of)
    where data_as_of is not null and exists (from wanted where source = 'lifecycle')
    group by target
  )
select
  state.target,
  wanted.source,
  -- what a service cannot answer and never did is not stale
  coalesce(if(state.status = 'unsupported' and state.as_of is null, null, state.status), 'never') as status,
  state.as_of,
  state.tried_at,
  state.error,
  coalesce(
    (state.status <> 'complete' and not (state.status = 'unsupported' and state.as_of is null)) or state.as_of < $staleness_at::timestamptz - to_seconds($stale_hours::double * 3600)
      or state.as_of > $staleness_at::timestamptz + interval 1 hour,
    false
  ) as stale,
from wanted
left join source_state_at($as_of) as state using (source)
where wanted.source <> 'lifecycle'
union all
select
  target,
  'lifecycle',
  if(is_old, 'old', 'complete'),
  data_as_of::timestamptz,
  null,
  if(is_old, 'tidemark lifecycle import FILE takes newer facts', null),
  is_old,
from facts
order by stale desc, source, target;
