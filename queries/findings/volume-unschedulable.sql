-- rule: A volume cannot be scheduled.
-- severity: warning
-- worst: critical
-- sources: volumes
-- subject: volume
-- many: volumes{of} cannot be scheduled
-- repair: look at the plugin's health on its nodes; ask who runs the storage plugin
-- grain: one row per such volume; critical where something claims it; grouped by plugin; unknown where it is not reported
select
  target,
  concat_ws('/', namespace, volume_id) as subject_id,
  coalesce(name, volume_id) as subject_name,
  case
    when schedulable is null then 'whether it can be scheduled is not reported'
    else format(
      'Volume {} cannot be scheduled (plugin {}: {}/{} controllers and {}/{} nodes healthy)',
      concat_ws('/', namespace, coalesce(name, volume_id)),
      coalesce(plugin_id, '?'),
      coalesce(controllers_healthy::varchar, '?'),
      coalesce(controllers_expected::varchar, '?'),
      coalesce(nodes_healthy::varchar, '?'),
      coalesce(nodes_expected::varchar, '?')
    )
  end as title,
  json_object(
    'volume_id', volume_id,
    'namespace', namespace,
    'plugin_id', plugin_id,
    'current_readers', current_readers,
    'current_writers', current_writers,
    'resource_exhausted', resource_exhausted
  ) as detail,
  case when coalesce(current_readers, 0) + coalesce(current_writers, 0) > 0 then 'critical' else 'warning' end as severity,
  'plugin ' || plugin_id as group_key,
  coalesce(current_readers, 0) + coalesce(current_writers, 0) as weight,
  schedulable is null as unknown,
from volumes
where schedulable is not true
