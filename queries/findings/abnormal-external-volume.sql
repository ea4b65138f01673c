-- rule: A storage provider reports that a volume is abnormal.
-- severity: warning
-- sources: external_volumes
-- subject: external volume
-- many: volumes{of} are reported as abnormal by their provider
-- repair: ask who runs the storage plugin to repair the volume in the provider
-- grain: one row per such volume; unknown where the provider does not report it, and for every volume of a plugin that no longer lists its volumes
select
  target,
  concat_ws('/', plugin_id, external_id) as subject_id,
  external_id as subject_name,
  case
    when is_abnormal is null then 'the provider does not report whether it is abnormal'
    else format('Plugin {} reports that volume {} is abnormal{}', coalesce(plugin_id, '?'), external_id, coalesce(': ' || status, ''))
  end as title,
  json_object(
    'plugin_id', plugin_id,
    'external_id', external_id,
    'status', status,
    'published_node_ids', published_node_ids
  ) as detail,
  'plugin ' || plugin_id as group_key,
  is_abnormal is null as unknown,
from external_volumes
where is_abnormal is not false
union all
select target, null, null, format('plugin {} does not list its volumes', plugin_id), json_object('plugin_id', nullif(plugin_id, '*')), null, true
from unlisted_plugins('external_volume')
