-- grain: one row per volume in a provider that is not registered
-- title: Orphaned
-- sources: external_volumes, volumes
-- about: Volumes in the storage provider that are not registered. They may incur cost without being used. They are known only where all registered volumes are.
-- empty: Every volume in the providers is registered, as far as the plugins can list.
-- labels: external_id=ID in the provider; plugin_id=Plugin; capacity_bytes=Capacity; nodes=Attached to; is_abnormal=Abnormal
-- subjects: external_id=external volume
select
  target,
  external_id,
  plugin_id,
  capacity_bytes,
  published_node_ids as nodes,
  is_abnormal,
from orphaned_volumes($as_of)
order by capacity_bytes desc nulls last, external_id, target, plugin_id;
