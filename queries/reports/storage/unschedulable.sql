-- grain: one row per volume that cannot be scheduled or whose plugin is not healthy
-- title: Unschedulable and unhealthy volumes
-- sources: volumes
-- empty: No volume is known that cannot be scheduled or whose plugin is not healthy.
-- labels: volume=Volume; plugin_id=Plugin; controllers=Controllers healthy; nodes=Nodes healthy; current_readers=Readers; current_writers=Writers
-- subjects: volume=volume
select
  target,
  concat_ws('/', namespace, coalesce(name, volume_id)) as volume,
  plugin_id,
  schedulable,
  format('{} of {}', coalesce(controllers_healthy::varchar, '?'), coalesce(controllers_expected::varchar, '?')) as controllers,
  format('{} of {}', coalesce(nodes_healthy::varchar, '?'), coalesce(nodes_expected::varchar, '?')) as nodes,
  current_readers,
  current_writers,
  access_mode,
from volumes_at($as_of) as volumes
anti join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
where not schedulable or controllers_healthy < controllers_expected or nodes_healthy < nodes_expected
order by schedulable, current_writers desc nulls last, volume, target, volume_id;
