-- grain: one row per registered volume that does not exist in its provider and that nothing claims, at a time, as far as plugins can list their volumes
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro missing_volumes(at_time) as table
select volumes.*
from volumes_at(at_time) as volumes
semi join assessed_targets('missing-external-volume', ['external_volumes', 'volumes'], at_time) as assessed
  on assessed.target = volumes.target
join external_volume_listings_at(at_time) as listing
  on listing.target = volumes.target and listing.plugin_id = volumes.plugin_id and listing.supported
anti join external_volumes_at(at_time) as held
  on held.target = volumes.target
  and held.external_id = volumes.external_id
  and coalesce(starts_with(held.plugin_id, volumes.plugin_id), true)
anti join volume_allocations_at(at_time) as claims
  on claims.target = volumes.target
  and claims.namespace is not distinct from volumes.namespace
  and claims.volume_id = volumes.volume_id
anti join (from unknown_parts_at(at_time) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
where
  volumes.external_id is not null
  and volumes.current_readers = 0
  and volumes.current_writers = 0;
