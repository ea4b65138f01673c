-- grain: one row per volume claimed only by finished allocations
-- title: Claimed only by finished allocations
-- sources: volumes
-- empty: No volume is known to be claimed only by finished allocations.
-- labels: volume=Volume; plugin_id=Plugin; allocations=Allocations; nodes=Nodes; jobs=Jobs
-- subjects: volume=volume
select
  volumes.target,
  concat_ws('/', volumes.namespace, coalesce(volumes.name, volumes.volume_id)) as volume,
  volumes.plugin_id,
  claims.allocations,
  claims.statuses,
  claims.jobs,
  claims.nodes,
from volumes_at($as_of) as volumes
join volume_claims($as_of) as claims
  on claims.target = volumes.target
  and claims.namespace is not distinct from volumes.namespace
  and claims.volume_id = volumes.volume_id
anti join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
where claims.is_lost
order by claims.allocations desc, volume, volumes.target, volumes.volume_id;
