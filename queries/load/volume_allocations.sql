-- grain: one row per volume, allocation and mode; the claim maps identify the allocations, the list or the map describes them; times are Unix nanoseconds
with
  -- The rows of claims have no copy of their volume, which may be large. With `ignore_errors`, a field of another type is null, as is the body
  -- of a list. `volumes` reads the same lines without it, so that a damaged line still fails the source.
  volumes as (
    select
      body."ID" as volume_id,
      coalesce(body."Namespace", '') as namespace,
      body."ReadAllocs" as read_claims,
      body."WriteAllocs" as write_claims,
      body."Allocations" as allocations,
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      ignore_errors = true,
      columns = {
        kind: 'VARCHAR',
        body: 'STRUCT("ID" VARCHAR, "Namespace" VARCHAR, "ReadAllocs" MAP(VARCHAR, JSON), "WriteAllocs" MAP(VARCHAR, JSON), "Allocations" JSON[])'
      },
      maximum_object_size = $longest_line
    )
    where kind = 'read'
  ),
  claims as (
    select volume_id, namespace, 'read' as mode, unnest(map_entries(read_claims)) as claim
    from volumes
    union all
    select volume_id, namespace, 'write', unnest(map_entries(write_claims))
    from volumes
  ),
  named as (
    select volume_id, namespace, unnest(allocations) as allocation
    from volumes
  ),
  -- of an allocation that is there twice, what differs is not known
  listed as (
    select
      volume_id,
      namespace,
      allocation ->> 'ID' as allocation_id,
      if(min(md5(allocation::varchar)) <> max(md5(allocation::varchar)), null, any_value(allocation)) as allocation,
    from named
    group by volume_id, namespace, allocation_id
  ),
  described as (
    select
      claims.volume_id,
      claims.namespace,
      claims.mode,
      claims.claim.key as allocation_id,
      case when json_type(claims.claim.value) = 'OBJECT' then claims.claim.value else listed.allocation end as allocation,
    from claims
    left join listed
      on listed.volume_id = claims.volume_id
      and listed.namespace = claims.namespace
      and listed.allocation_id = claims.claim.key
  ),
  -- each operator on JSON parses the whole text again, and keeps what it has parsed of some thousand rows in memory
  parsed as (
    select
      *,
      from_json(
        allocation,
        '{"NodeID": "VARCHAR", "JobID": "VARCHAR", "TaskGroup": "VARCHAR", "ClientStatus": "VARCHAR", "DesiredStatus": "VARCHAR", "Name": "VARCHAR", "EvalID": "VARCHAR", "JobType": "VARCHAR", "NodeName": "VARCHAR", "DesiredDescription": "VARCHAR", "ClientDescription": "VARCHAR", "PreviousAllocation": "VARCHAR", "NextAllocation": "VARCHAR", "CreateIndex": "VARCHAR", "ModifyIndex": "VARCHAR", "CreateTime": "VARCHAR", "ModifyTime": "VARCHAR", "RescheduleTracker": "JSON", "TaskStates": "JSON"}'
      ) as fields,
    from described
  )
select
  volume_id,
  allocation_id,
  mode,
  fields."NodeID" as node_id,
  fields."JobID" as job_id,
  fields."TaskGroup" as task_group,
  fields."ClientStatus" as client_status,
  fields."DesiredStatus" as desired_status,
  namespace,
  fields."Name" as name,
  fields."EvalID" as eval_id,
  fields."JobType" as job_type,
  fields."NodeName" as node_name,
  fields."DesiredDescription" as desired_description,
  fields."ClientDescription" as client_description,
  fields."PreviousAllocation" as previous_allocation,
  fields."NextAllocation" as next_allocation,
  fields."RescheduleTracker" as reschedule_tracker,
  fields."TaskStates" as task_states,
  try_cast(fields."CreateIndex" as ubigint) as create_index,
  try_cast(fields."ModifyIndex" as ubigint) as modify_index,
  read_time(fields."CreateTime") as created_at,
  read_time(fields."ModifyTime") as modified_at,
  case
    when allocation is not null
      then json_merge_patch(
        allocation,
        '{"ID": null, "NodeID": null, "JobID": null, "TaskGroup": null, "ClientStatus": null, "DesiredStatus": null, "Name": null, "EvalID": null, "JobType": null, "NodeName": null, "DesiredDescription": null, "ClientDescription": null, "PreviousAllocation": null, "NextAllocation": null, "RescheduleTracker": null, "TaskStates": null, "CreateIndex": null, "ModifyIndex": null, "CreateTime": null, "ModifyTime": null}'
      )
  end as extra,
from parsed
