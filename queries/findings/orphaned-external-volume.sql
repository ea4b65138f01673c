-- rule: A storage provider holds a volume that is not registered.
-- severity: warning
-- sources: volumes, external_volumes
-- subject: external volume
-- grain: one row per such volume; grouped by plugin; unknown for every volume of a plugin that does not list what it holds now
with
  orphaned as (
    select held.*
    from external_volumes as held
    where not exists (
      from volumes
      where
        volumes.target = held.target
        and volumes.plugin_id = held.plugin_id
        and volumes.external_id = held.external_id
    )
  ),
  -- a plugin is asked only while a volume names it: one that is not asked any more is as silent as one that cannot list
  silent as (
    select distinct target, plugin_id
    from external_volume_listings_history
    anti join (from external_volume_listings where supported) as listing using (target, plugin_id)
  )
select
  target,
  concat_ws('/', plugin_id, external_id) as subject_id,
  external_id as subject_name,
  format('Plugin {} holds volume {}, which is not registered', plugin_id, external_id) as title,
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
select target, null, null, format('plugin {} does not list what it holds', plugin_id), json_object('plugin_id', plugin_id), null, true
from silent
