-- grain: one row per volume that its provider reports as abnormal
-- title: Abnormal in the provider
-- sources: external_volumes
-- empty: No provider reports an abnormal volume.
-- labels: external_id=ID in the provider; plugin_id=Plugin; capacity_bytes=Capacity; provider_says=Status in the provider
-- subjects: external_id=external volume
select
  target,
  external_id,
  plugin_id,
  capacity_bytes,
  status as provider_says,
from external_volumes_at($as_of) as held
anti join (from unknown_parts_at($as_of) where source = 'external_volumes') as unknown
  on unknown.target = held.target and unknown.value is not distinct from held.plugin_id
where is_abnormal
order by external_id, target, plugin_id;
