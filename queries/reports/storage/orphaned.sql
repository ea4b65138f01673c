-- grain: one row per volume in a provider that is not registered
-- title: Orphaned
-- sources: external_volumes, volumes
-- about: Only where all registered volumes are known. Volumes in the storage provider that are not registered. They may incur cost without being used.
-- empty: Every volume in the providers is registered.
-- labels: external_id=ID in the provider; plugin_id=Plugin; capacity_bytes=Capacity; nodes=Attached to; is_abnormal=Abnormal
-- subjects: external_id=external volume
select
  held.target,
  held.external_id,
  held.plugin_id,
  held.capacity_bytes,
  held.published_node_ids as nodes,
  held.is_abnormal,
from external_volumes_at($as_of) as held
semi join assessed_targets('orphaned-external-volume', ['external_volumes', 'volumes'], $as_of) as assessed
  on assessed.target = held.target
anti join volumes_at($as_of) as volumes
  on volumes.target = held.target
  and volumes.external_id = held.external_id
  and coalesce(starts_with(held.plugin_id, volumes.plugin_id), true)
anti join (from volumes_at($as_of) where external_id is null) as unreported
  on unreported.target = held.target
  and coalesce(starts_with(held.plugin_id, unreported.plugin_id), true)
anti join (from unknown_parts_at($as_of) where source = 'external_volumes') as unknown
  on unknown.target = held.target and unknown.value is not distinct from held.plugin_id
-- a volume of a namespace that could not be read may be registered
anti join (from unknown_parts_at($as_of) where source = 'volumes') as hidden on hidden.target = held.target
where held.is_ambiguous is not true
order by held.capacity_bytes desc nulls last, held.external_id, held.target, held.plugin_id;
