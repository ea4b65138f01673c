-- grain: one row per day with a complete pull, over the last year
-- title: The nights
-- limit: 100
with
  nights as (
    select max(as_of) as night
    from pulls
    where
      source in ('external_volumes', 'volume_snapshots', 'volumes')
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  rows_held as (
    select 'volume' as kind, valid_from, valid_to, 0 as bytes, not schedulable as unschedulable from volumes_history
    union all
    select 'external', valid_from, valid_to, capacity_bytes, false from external_volumes_history
    union all
    select 'snapshot', valid_from, valid_to, size_bytes, false from volume_snapshots_history
  ),
  changes as (
    select kind, valid_from as moment, 1 as sign, bytes, unschedulable from rows_held
    union all
    select kind, valid_to, -1, bytes, unschedulable from rows_held where valid_to is not null
  ),
  standing as (
    select
      moment,
      sum(coalesce(sum(sign) filter (kind = 'volume'), 0)) over (order by moment) as volumes,
      sum(coalesce(sum(sign) filter (unschedulable), 0)) over (order by moment) as unschedulable,
      sum(coalesce(sum(sign) filter (kind = 'external'), 0)) over (order by moment) as external_volumes,
      sum(coalesce(sum(sign) filter (kind = 'snapshot'), 0)) over (order by moment) as snapshots,
      sum(coalesce(sum(sign * bytes) filter (kind = 'external'), 0)) over (order by moment) as capacity_bytes,
      sum(coalesce(sum(sign * bytes) filter (kind = 'snapshot'), 0)) over (order by moment) as snapshot_bytes,
    from changes
    group by moment
  )
select
  nights.night,
  standing.volumes,
  standing.unschedulable,
  standing.external_volumes,
  standing.snapshots,
  standing.capacity_bytes,
  standing.snapshot_bytes,
from nights
asof join standing on nights.night >= standing.moment
order by nights.night desc;
