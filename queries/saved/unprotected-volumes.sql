-- title: Volumes without a recent snapshot
-- description: Volumes with the time of their last snapshot. A volume whose plugin cannot list snapshots has none here: compare volume_snapshot_listings.
-- param: days integer = 7 - snapshots older than this do not count as recent
select volumes.target, volumes.namespace, volumes.name, volumes.plugin_id, volumes.capacity_bytes, last_snapshots.last_at as last_snapshot_at
from volumes
left join snapshot_protection_at((select max(as_of) from pulls), $days::integer) as last_snapshots using (target, plugin_id, external_id)
where
  last_snapshots.last_at is null
  or last_snapshots.last_at < (select max(as_of) from pulls) - to_days($days::integer)
order by last_snapshots.last_at nulls first, volumes.target, volumes.namespace, volumes.name;
