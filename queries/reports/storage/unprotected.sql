-- grain: one row per volume without a ready snapshot within snapshotDays
-- title: Unprotected
-- sources: volume_snapshots, volumes
-- about: No ready snapshot within the allowed days. Only for plugins that can list their snapshots.
-- empty: Every volume has a recent snapshot, as far as the plugins can list.
-- labels: volume=Volume; plugin_id=Plugin; last_snapshot_at=Last ready snapshot; age_days=Age (days)
-- subjects: volume=volume
select
  volumes.target,
  concat_ws('/', volumes.namespace, coalesce(volumes.name, volumes.volume_id)) as volume,
  volumes.plugin_id,
  ready.last_at as last_snapshot_at,
  date_diff('hour', ready.last_at, $as_of::timestamptz) // 24 as age_days,
from volumes_at($as_of) as volumes
semi join assessed_targets('unprotected-volume', ['volume_snapshots', 'volumes'], $as_of) as assessed
  on assessed.target = volumes.target
join volume_snapshot_listings_at($as_of) as listing
  on listing.target = volumes.target and listing.plugin_id = volumes.plugin_id and listing.supported
left join snapshot_protection_at($as_of, $snapshot_days) as ready
  on ready.target = volumes.target
  and ready.plugin_id = volumes.plugin_id
  and ready.external_id = volumes.external_id
anti join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
where
  volumes.external_id is not null
  and ready.may_count is not true
  and (
    ready.last_at is null
    or ready.last_at < $as_of::timestamptz - to_seconds($snapshot_days::double * 86400)
  )
order by ready.last_at nulls first, volume, volumes.target, volumes.volume_id;
