-- grain: one row per target and source that was ever pulled until $as_of, the stale ones first
-- state: fresh, stale, or unknown if it was never pulled completely
-- $staleness_at: time at which the age is evaluated; $stale_hours: age from which a source counts as stale
with
  states as (
    select
      target,
      source,
      status,
      as_of,
      error,
      -- as in the reports: what a service cannot answer any more is not of now either
      status <> 'complete'
      or as_of < $staleness_at::timestamptz - to_seconds($stale_hours::double * 3600)
      or as_of > $staleness_at::timestamptz + interval 1 hour as stale,
    from source_state_at($as_of)
  )
select
  *,
  case when as_of is null then 'unknown' when stale then 'stale' else 'fresh' end as state,
  epoch_ms($staleness_at::timestamptz) - epoch_ms(as_of) as age_ms,
from states
order by coalesce(stale, true) desc, target, source
