-- grain: one row per volume, allocation and mode; the claim maps identify the allocations, the list or the map describes them; times are Unix nanoseconds
with
  volumes as (
    select body as volume
    from read_json($files, format = 'newline_delimited', records = true, columns = {kind: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
    where kind = 'read'
  ),
  claims as (
    select volume, 'read' as mode, unnest(map_entries((volume -> 'ReadAllocs')::map(varchar, json))) as claim
    from volumes
    where json_type(volume -> 'ReadAllocs') = 'OBJECT'
    union all
    select volume, 'write', unnest(map_entries((volume -> 'WriteAllocs')::map(varchar, json)))
    from volumes
    where json_type(volume -> 'WriteAllocs') = 'OBJECT'
  ),
  listed as (
    select volume ->> 'ID' as volume_id, coalesce(volume ->> 'Namespace', '') as namespace, unnest((volume -> 'Allocations')::json[]) as allocation
    from volumes
    where json_type(volume -> 'Allocations') = 'ARRAY'
  ),
  described as (
    select
      claims.volume ->> 'ID' as volume_id,
      coalesce(claims.volume ->> 'Namespace', '') as namespace,
      claims.mode,
      claims.claim.key as allocation_id,
      case when json_type(claims.claim.value) = 'OBJECT' then claims.claim.value else listed.allocation end as allocation,
    from claims
    left join listed
      on listed.volume_id = (claims.volume ->> 'ID')
      and listed.namespace = coalesce(claims.volume ->> 'Namespace', '')
      and (listed.allocation ->> 'ID') = claims.claim.key
  )
select
  volume_id,
  allocation_id,
  mode,
  allocation ->> 'NodeID' as node_id,
  allocation ->> 'JobID' as job_id,
  allocation ->> 'TaskGroup' as task_group,
  allocation ->> 'ClientStatus' as client_status,
  allocation ->> 'DesiredStatus' as desired_status,
  namespace,
  allocation ->> 'Name' as name,
  allocation ->> 'EvalID' as eval_id,
  allocation ->> 'JobType' as job_type,
  allocation ->> 'NodeName' as node_name,
  allocation ->> 'DesiredDescription' as desired_description,
  allocation ->> 'ClientDescription' as client_description,
  allocation ->> 'PreviousAllocation' as previous_allocation,
  allocation ->> 'NextAllocation' as next_allocation,
  allocation -> 'RescheduleTracker' as reschedule_tracker,
  allocation -> 'TaskStates' as task_states,
  (allocation ->> 'CreateIndex')::ubigint as create_index,
  (allocation ->> 'ModifyIndex')::ubigint as modify_index,
  make_timestamptz(nullif((allocation ->> 'CreateTime')::bigint, 0) // 1000) as created_at,
  make_timestamptz(nullif((allocation ->> 'ModifyTime')::bigint, 0) // 1000) as modified_at,
  case
    when allocation is not null
      then json_merge_patch(
        allocation,
        '{"ID": null, "NodeID": null, "JobID": null, "TaskGroup": null, "ClientStatus": null, "DesiredStatus": null, "Name": null, "EvalID": null, "JobType": null, "NodeName": null, "DesiredDescription": null, "ClientDescription": null, "PreviousAllocation": null, "NextAllocation": null, "RescheduleTracker": null, "TaskStates": null, "CreateIndex": null, "ModifyIndex": null, "CreateTime": null, "ModifyTime": null}'
      )
  end as extra,
from described
