-- grain: one row per day with a complete pull, over the last year
-- title: Trend
-- sources: keys
-- A key is overdue from keyRotationDays after the creation of its newest version until the next version is reported.
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      source = 'keys'
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  newest as (
    select
      keys.target,
      keys.name,
      greatest(keys.valid_from, versions.creation_time + to_seconds($key_rotation_days::double * 86400)) as overdue_from,
      coalesce(keys.valid_to, 'infinity'::timestamptz) as valid_to,
    from keys_history as keys
    join key_versions_history as versions
      on versions.target = keys.target
      and versions.key_name = keys.name
      and versions.version = keys.latest_version
      and versions.valid_from < coalesce(keys.valid_to, 'infinity'::timestamptz)
      and coalesce(versions.valid_to, 'infinity'::timestamptz) > keys.valid_from
  ),
  changes as (
    select valid_from as changed_at, 1 as keys, 0 as overdue from keys_history
    union all
    select valid_to, -1, 0 from keys_history where valid_to is not null
    union all
    select overdue_from, 0, 1 from newest where overdue_from < valid_to
    union all
    select valid_to, 0, -1 from newest where overdue_from < valid_to and isfinite(valid_to)
  ),
  totals as (
    select
      changed_at,
      sum(sum(keys)) over (order by changed_at) as keys,
      sum(sum(overdue)) over (order by changed_at) as overdue,
    from changes
    group by changed_at
  )
select
  days.pulled_at as as_of,
  totals.keys,
  totals.overdue,
from days
asof join totals on days.pulled_at >= totals.changed_at
order by as_of desc;
