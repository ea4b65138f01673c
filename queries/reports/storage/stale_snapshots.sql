-- grain: one row per snapshot that is too old, or whose volume no longer exists
-- title: Stale snapshots
-- sources: external_volumes, volume_snapshots, volumes
-- empty: No snapshot is known to be stale.
-- labels: snapshot_id=Snapshot; plugin_id=Plugin; external_source_volume_id=Volume in the provider; age_days=Age (days); size_bytes=Size; reason=Why
-- subjects: snapshot_id=snapshot
select
  target,
  snapshot_id,
  plugin_id,
  external_source_volume_id,
  created_at,
  date_diff('hour', created_at, $as_of::timestamptz) // 24 as age_days,
  size_bytes,
  case when is_volume_missing and old then 'old, and its volume no longer exists' when is_volume_missing then 'its volume no longer exists' else 'old' end as reason,
from snapshot_staleness_at($as_of, $stale_snapshot_days)
where is_known and (old or is_volume_missing)
order by created_at nulls first, snapshot_id, target, plugin_id;
