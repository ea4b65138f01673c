-- grain: one row per registered volume that does not exist in its provider and that nothing claims
-- title: Registered but missing
-- sources: external_volumes, volumes
-- about: Only for plugins that can list their volumes.
-- empty: Every registered volume exists, as far as the plugins can list.
-- labels: volume=Volume; plugin_id=Plugin; external_id=ID in the provider
-- subjects: volume=volume
select
  volumes.target,
  concat_ws('/', volumes.namespace, coalesce(volumes.name, volumes.volume_id)) as volume,
  volumes.plugin_id,
  volumes.external_id,
from volumes_at($as_of) as volumes
semi join assessed_targets('missing-external-volume', ['external_volumes', 'volumes'], $as_of) as assessed
  on assessed.target = volumes.target
join external_volume_listings_at($as_of) as listing
  on listing.target = volumes.target and listing.plugin_id = volumes.plugin_id and listing.supported
anti join external_volumes_at($as_of) as held
  on held.target = volumes.target
  and held.external_id = volumes.external_id
  and coalesce(starts_with(held.plugin_id, volumes.plugin_id), true)
anti join volume_allocations_at($as_of) as claims
  on claims.target = volumes.target
  and claims.namespace is not distinct from volumes.namespace
  and claims.volume_id = volumes.volume_id
anti join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
where
  volumes.external_id is not null
  and coalesce(volumes.current_readers, 0) = 0
  and coalesce(volumes.current_writers, 0) = 0
order by volume, volumes.target, volumes.volume_id;
