-- grain: one row per volume without a ready snapshot within snapshotDays
-- title: Unprotected
-- sources: volume_snapshots, volumes
-- about: No ready snapshot within the allowed days. Only for plugins that can list their snapshots.
-- empty: No volume is known to be unprotected.
-- labels: volume=Volume; plugin_id=Plugin; last_snapshot_at=Last ready snapshot; age_days=Age (days)
-- subjects: volume=volume
select
  target,
  concat_ws('/', namespace, coalesce(name, volume_id)) as volume,
  plugin_id,
  last_snapshot_at,
  date_diff('hour', last_snapshot_at, $as_of::timestamptz) // 24 as age_days,
from volume_protection($as_of, $snapshot_days)
where protection = 'unprotected'
order by last_snapshot_at nulls first, volume, target, volume_id;
