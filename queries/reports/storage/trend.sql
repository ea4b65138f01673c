-- grain: one row per day with a complete pull, over the last year
-- title: Trend
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      source in ('external_volumes', 'volume_snapshots', 'volumes')
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  stored as (
    select 'volume' as kind, valid_from, valid_to, 0 as bytes, not schedulable as unschedulable from volumes_history
    union all
    select 'external', valid_from, valid_to, capacity_bytes, false from external_volumes_history
    union all
    select 'snapshot', valid_from, valid_to, size_bytes, false from volume_snapshots_history
  ),
  changes as (
    select kind, valid_from as changed_at, 1 as sign, bytes, unschedulable from stored
    union all
    select kind, valid_to, -1, bytes, unschedulable from stored where valid_to is not null
  ),
  totals as (
    select
      changed_at,
      sum(coalesce(sum(sign) filter (kind = 'volume'), 0)) over (order by changed_at) as volumes,
      sum(coalesce(sum(sign) filter (unschedulable), 0)) over (order by changed_at) as unschedulable,
      sum(coalesce(sum(sign) filter (kind = 'external'), 0)) over (order by changed_at) as external_volumes,
      sum(coalesce(sum(sign) filter (kind = 'snapshot'), 0)) over (order by changed_at) as snapshots,
      sum(coalesce(sum(sign * bytes) filter (kind = 'external'), 0)) over (order by changed_at) as capacity_bytes,
      sum(coalesce(sum(sign * bytes) filter (kind = 'snapshot'), 0)) over (order by changed_at) as snapshot_bytes,
    from changes
    group by changed_at
  )
select
  days.pulled_at as as_of,
  totals.volumes,
  totals.unschedulable,
  totals.external_volumes,
  totals.snapshots,
  totals.capacity_bytes,
  totals.snapshot_bytes,
from days
asof join totals on days.pulled_at >= totals.changed_at
order by as_of desc;
