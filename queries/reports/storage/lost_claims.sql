-- grain: one row per volume claimed only by finished allocations
-- title: Claimed only by finished allocations
-- sources: volumes
-- empty: No volume is claimed only by finished allocations.
-- labels: volume=Volume; plugin_id=Plugin; allocations=Allocations; nodes=Nodes; jobs=Jobs
-- subjects: volume=volume
with
  claims as (
    select
      target,
      namespace,
      volume_id,
      count(distinct allocation_id) as allocations,
      list(distinct client_status order by client_status) as statuses,
      list(distinct node_id order by node_id) filter (node_id is not null) as nodes,
      list(distinct job_id order by job_id) filter (job_id is not null) as jobs,
    from volume_allocations_at($as_of)
    group by target, namespace, volume_id
    having bool_and(coalesce(client_status in ('complete', 'failed', 'lost'), false))
  )
select
  volumes.target,
  concat_ws('/', volumes.namespace, coalesce(volumes.name, volumes.volume_id)) as volume,
  volumes.plugin_id,
  claims.allocations,
  claims.statuses,
  claims.jobs,
  claims.nodes,
from volumes_at($as_of) as volumes
join claims
  on claims.target = volumes.target
  and claims.namespace is not distinct from volumes.namespace
  and claims.volume_id = volumes.volume_id
anti join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
order by claims.allocations desc, volume, volumes.target, volumes.volume_id;
