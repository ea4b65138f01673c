-- grain: one row per target and source ever pulled
-- $now: the present; $stale_hours: age from which a source counts as stale. What a clock that was ahead has dated has no known age.
with
  states as (
    select *, extract(epoch from ($now::timestamptz - as_of)) / 3600 as hours
    from source_state
  )
select
  target,
  source,
  status,
  as_of,
  case
    when hours is null then 'never'
    when hours < 0 then 'in the future'
    when hours < 2 then format('{:.0f} min', hours * 60)
    when hours < 72 then format('{:.0f} h', hours)
    else format('{:.0f} d', hours / 24)
  end as age,
  status <> 'unsupported' and coalesce(status <> 'complete' or hours not between -1 and $stale_hours, true) as stale,
  error,
  (
    select max(reused)
    from pulls
    where pulls.target = states.target and pulls.source = states.source and pulls.as_of = states.as_of
  ) as reused,
from states
order by target, source;
