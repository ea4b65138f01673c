-- grain: one row per target that was pulled until $as_of, and per other one of the configuration, stale ones first
-- parameters: $as_of; $targets: JSON list of the configured names; $staleness_at: time at which the age is evaluated, and after which nothing is fresh; $stale_hours
with
  states as (
    select
      target,
      source,
      as_of,
      tried_at,
      error,
      status <> 'complete' or as_of < $staleness_at::timestamptz - to_seconds($stale_hours::double * 3600)
        or as_of > $staleness_at::timestamptz + interval 1 hour as stale,
    from source_state_at($as_of)
    where status not in ('left-out', 'unsupported')
    union all by name
    select target, true as stale
    from (select unnest(from_json($targets, '["VARCHAR"]')) as target)
    where target not in (select target from pulls where as_of <= $as_of::timestamptz) -- what is left out was pulled
  )
select
  target,
  count(source) as sources,
  count(*) filter (not stale) as fresh,
  min(as_of) as oldest_as_of,
  bool_or(stale) as stale,
  coalesce(string_agg(source, ', ' order by source) filter (stale), '') as stale_sources,
  coalesce(any_value(error order by tried_at desc, source) filter (stale), '') as error,
from states
group by target
order by stale desc, target;
