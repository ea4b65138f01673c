-- rule: A storage provider has a volume that is not registered.
-- severity: warning
-- sources: volumes, external_volumes
-- subject: external volume
-- grain: one row per such volume; grouped by plugin; unknown for every volume of a plugin that no longer lists its volumes
with
  orphaned as (
    select external_volumes.*
    from external_volumes
    where not exists (
      from volumes
      where
        volumes.target = external_volumes.target
        and volumes.plugin_id = external_volumes.plugin_id
        and volumes.external_id = external_volumes.external_id
    )
  ),
  -- a plugin is queried only while a registered volume names it; one that is no longer queried is treated like one that cannot list
  unlisted_plugins as (
    select distinct target, plugin_id
    from external_volume_listings_history
    anti join (from external_volume_listings where supported) as listing using (target, plugin_id)
  )
select
  target,
  concat_ws('/', plugin_id, external_id) as subject_id,
  external_id as subject_name,
  format('Plugin {} has volume {}, which is not registered', plugin_id, external_id) as title,
  json_object(
    'plugin_id', plugin_id,
    'external_id', external_id,
    'capacity_bytes', capacity_bytes,
    'published_node_ids', published_node_ids,
    'is_abnormal', is_abnormal
  ) as detail,
  'plugin ' || plugin_id as group_key,
  false as unknown,
from orphaned
union all
select target, null, null, format('plugin {} does not list its volumes', plugin_id), json_object('plugin_id', plugin_id), null, true
from unlisted_plugins
