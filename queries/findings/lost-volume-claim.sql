-- rule: A volume is claimed only by finished allocations.
-- severity: warning
-- sources: volumes
-- subject: volume
-- many: volumes are claimed only by finished allocations
-- repair: detach the volumes
-- grain: one row per such volume, with the nodes to detach it from; unknown where the status of an allocation is not reported or not known, or what claims the volume is not reported
-- An allocation that the scheduler no longer knows is in the claims without a status: it may have finished.
with
  claimed as (
    select
      target,
      namespace,
      volume_id,
      count(distinct allocation_id) as allocations,
      bool_and(has_ended(client_status) is not false) as may_have_finished,
      bool_or(has_ended(client_status) is null) as has_unknown,
      min(client_status) filter (where has_ended(client_status) is null) as odd_status,
      list(distinct node_id order by node_id) filter (where node_id is not null) as nodes,
      list(distinct allocation_id order by allocation_id) as allocation_ids,
      list(distinct job_id order by job_id) filter (where job_id is not null) as jobs,
    from volume_allocations
    group by target, namespace, volume_id
  )
select
  volumes.target,
  concat_ws('/', volumes.namespace, volumes.volume_id) as subject_id,
  coalesce(volumes.name, volumes.volume_id) as subject_name,
  case
    when claimed.volume_id is null then 'the service counts claims of the volume, and does not report them'
    when claimed.odd_status is not null then format('the status of a claiming allocation is {}, which is not known', claimed.odd_status)
    when claimed.has_unknown then 'the status of a claiming allocation is not reported'
    else format(
      'Volume {} is claimed only by {}',
      concat_ws('/', volumes.namespace, coalesce(volumes.name, volumes.volume_id)),
      case when claimed.allocations = 1 then 'a finished allocation' else claimed.allocations || ' finished allocations' end
    )
  end as title,
  json_object(
    'volume_id', volumes.volume_id,
    'namespace', volumes.namespace,
    'plugin_id', volumes.plugin_id,
    'nodes', coalesce(claimed.nodes, []),
    'allocations', claimed.allocation_ids,
    'jobs', coalesce(claimed.jobs, [])
  ) as detail,
  claimed.allocations as weight,
  claimed.volume_id is null or claimed.has_unknown as unknown,
from volumes
left join claimed
  on claimed.target = volumes.target
  and claimed.namespace is not distinct from volumes.namespace
  and claimed.volume_id = volumes.volume_id
where
  claimed.may_have_finished
  or (claimed.volume_id is null and (volumes.current_readers > 0 or volumes.current_writers > 0))
