-- rule: A storage provider has a volume that is not registered.
-- severity: warning
-- sources: volumes, external_volumes
-- proves: complete listing of volumes
-- subject: external volume
-- many: volumes{of} are in the provider and not registered
-- repair: register the volumes, or delete them in the provider
-- grain: one row per such volume; grouped by plugin; unknown for a volume that may belong to another plugin, or be a registered one that does not report its external volume, and for every volume of a plugin that no longer lists its volumes
with
  orphaned as (
    select
      external_volumes.*,
      exists (
        from volumes
        where
          volumes.target = external_volumes.target
          and volumes.external_id is null
          and coalesce(starts_with(external_volumes.plugin_id, volumes.plugin_id), true)
      ) as may_be_registered,
    from external_volumes
    where not exists (
      from volumes
      where
        volumes.target = external_volumes.target
        and volumes.external_id = external_volumes.external_id
        -- a plugin ID may be a prefix: the volume may belong to a plugin whose ID is the beginning of this one
        and coalesce(starts_with(external_volumes.plugin_id, volumes.plugin_id), true)
    )
  )
select
  target,
  concat_ws('/', plugin_id, external_id) as subject_id,
  external_id as subject_name,
  case
    when is_ambiguous then format('volume {} may belong to {} or to a plugin whose ID begins with it', external_id, plugin_id)
    when may_be_registered then 'a registered volume does not report its external volume'
    when plugin_id is null then format('A storage provider has volume {}, which is not registered', external_id)
    else format('Plugin {} has volume {}, which is not registered', plugin_id, external_id)
  end as title,
  json_object(
    'plugin_id', plugin_id,
    'external_id', external_id,
    'capacity_bytes', capacity_bytes,
    'published_node_ids', published_node_ids,
    'is_abnormal', is_abnormal
  ) as detail,
  'plugin ' || plugin_id as group_key,
  coalesce(is_ambiguous, false) or may_be_registered as unknown,
from orphaned
union all
select
  target,
  null,
  null,
  if(plugin_id = '*', 'plugins that no registered volume names are not listed', format('plugin {} does not list its volumes', plugin_id)),
  json_object('plugin_id', nullif(plugin_id, '*')),
  null,
  true,
from unlisted_plugins('external_volume')
