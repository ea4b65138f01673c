-- grain: one row per volume of the list that was not deleted while it was read; some fields are returned only by reading the volume
-- Times are Unix nanoseconds, 0 where the service does not know them, as of a capacity: Nomad asks no driver for that of a registered volume.
-- The real product nests topology segments, and returns `ResourceExhausted` as a time, with `0001-01-01T00:00:00Z` for none.
with
  lines as (
    select *
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {kind: 'VARCHAR', volume_id: 'VARCHAR', namespace: 'VARCHAR', body: 'JSON'},
      maximum_object_size = $longest_line
    )
  ),
  gone as (select volume_id, namespace from lines where kind = 'gone'),
  -- without what `volume_allocations` has, which may be nearly all of it: each operator below would parse and keep it
  seen as (
    select json_merge_patch(body, '{"Allocations": null, "ReadAllocs": null, "WriteAllocs": null}') as item
    from lines
    where kind = 'read'
  ),
  -- a list may have a volume twice, on one page or on two; where the two differ, the volume is as its read tells it
  named as (
    select item ->> 'ID' as volume_id, coalesce(item ->> 'Namespace', '') as namespace, item
    from (select unnest(body::json[]) as item from lines where kind = 'list')
  ),
  listed as (
    select
      volume_id,
      namespace,
      min(item::varchar) <> max(item::varchar) as differs,
      if(differs, json_object('ID', volume_id, 'Namespace', namespace), any_value(item)) as item,
    from named
    where (volume_id, namespace) not in (select (volume_id, namespace) from gone)
    group by volume_id, namespace
  ),
  merged as (
    select
      namespace,
      json_merge_patch(coalesce(seen.item, '{}'::json), listed.item) as known,
      if(differs, known, listed.item) as item,
    from listed
    left join seen
      on (seen.item ->> 'ID') = listed.volume_id
      and coalesce(seen.item ->> 'Namespace', '') = listed.namespace
  ),
  -- each operator on JSON parses the whole text again, and keeps what it has parsed of some thousand rows in memory
  items as (
    select
      item,
      namespace,
      known,
      item ->> 'ResourceExhausted' as exhausted,
      from_json(
        item,
        '{"ID": "VARCHAR", "ExternalID": "VARCHAR", "Name": "VARCHAR", "AccessMode": "VARCHAR", "AttachmentMode": "VARCHAR", "CurrentReaders": "VARCHAR", "CurrentWriters": "VARCHAR", "Schedulable": "VARCHAR", "PluginID": "VARCHAR", "Provider": "VARCHAR", "ControllerRequired": "VARCHAR", "ControllersHealthy": "VARCHAR", "ControllersExpected": "VARCHAR", "NodesHealthy": "VARCHAR", "NodesExpected": "VARCHAR", "CreateIndex": "VARCHAR", "ModifyIndex": "VARCHAR", "Topologies": "JSON"}'
      ) as listed,
      from_json(
        known,
        '{"Version": "VARCHAR", "ProviderVersion": "VARCHAR", "Capacity": "VARCHAR", "RequestedCapacityMin": "VARCHAR", "RequestedCapacityMax": "VARCHAR", "CreateTime": "VARCHAR", "ModifyTime": "VARCHAR", "RequestedCapabilities": "JSON", "MountOptions": "JSON", "Parameters": "JSON"}'
      ) as volume,
    from merged
  )
select
  listed."ID" as volume_id,
  listed."ExternalID" as external_id,
  namespace,
  listed."Name" as name,
  case
    when len(item -> '$.Topologies[*].Segments') > 0 then to_json(item -> '$.Topologies[*].Segments') -- null stands beside objects
    else listed."Topologies"
  end as topologies,
  listed."AccessMode" as access_mode,
  listed."AttachmentMode" as attachment_mode,
  try_cast(listed."CurrentReaders" as bigint) as current_readers,
  try_cast(listed."CurrentWriters" as bigint) as current_writers,
  try_cast(listed."Schedulable" as boolean) as schedulable,
  listed."PluginID" as plugin_id,
  listed."Provider" as provider,
  try_cast(listed."ControllerRequired" as boolean) as controller_required,
  try_cast(listed."ControllersHealthy" as bigint) as controllers_healthy,
  try_cast(listed."ControllersExpected" as bigint) as controllers_expected,
  try_cast(listed."NodesHealthy" as bigint) as nodes_healthy,
  try_cast(listed."NodesExpected" as bigint) as nodes_expected,
  coalesce(
    try_cast(exhausted as bigint),
    if(exhausted like '0001-01-01%', 0, epoch(try(read_time(exhausted)))::bigint)
  ) as resource_exhausted,
  try_cast(listed."CreateIndex" as ubigint) as create_index,
  try_cast(listed."ModifyIndex" as ubigint) as modify_index,
  volume."RequestedCapabilities" as requested_capabilities,
  coalesce(nullif(volume."Version", ''), volume."ProviderVersion") as provider_version,
  nullif(try_cast(volume."Capacity" as bigint), 0) as capacity_bytes,
  try_cast(volume."RequestedCapacityMin" as bigint) as requested_capacity_min_bytes,
  try_cast(volume."RequestedCapacityMax" as bigint) as requested_capacity_max_bytes,
  volume."MountOptions" as mount_options,
  volume."Parameters" as parameters,
  read_time(volume."CreateTime") as created_at,
  read_time(volume."ModifyTime") as modified_at,
  json_merge_patch(
    known,
    '{"ID": null, "ExternalID": null, "Namespace": null, "Name": null, "Topologies": null, "AccessMode": null, "AttachmentMode": null, "CurrentReaders": null, "CurrentWriters": null, "Schedulable": null, "PluginID": null, "Provider": null, "ControllerRequired": null, "ControllersHealthy": null, "ControllersExpected": null, "NodesHealthy": null, "NodesExpected": null, "ResourceExhausted": null, "CreateIndex": null, "ModifyIndex": null, "RequestedCapabilities": null, "Allocations": null, "ReadAllocs": null, "WriteAllocs": null, "Version": null, "ProviderVersion": null, "Capacity": null, "RequestedCapacityMin": null, "RequestedCapacityMax": null, "MountOptions": null, "Parameters": null, "CreateTime": null, "ModifyTime": null, "Secrets": null}'
  ) as extra,
from items
