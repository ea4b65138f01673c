-- grain: one row per registered volume that does not exist in its provider and that nothing claims
-- title: Registered but missing
-- sources: external_volumes, volumes
-- about: Only for plugins that can list their volumes.
-- empty: Every registered volume exists, as far as the plugins can list.
-- labels: volume=Volume; plugin_id=Plugin; external_id=ID in the provider
-- subjects: volume=volume
select
  target,
  concat_ws('/', namespace, coalesce(name, volume_id)) as volume,
  plugin_id,
  external_id,
from missing_volumes($as_of)
order by volume, target, volume_id;
