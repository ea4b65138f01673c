-- grain: one row per volume of the list; some fields are returned only by reading the volume
-- Times are Unix nanoseconds, 0 where the service does not know them.
-- The real product nests topology segments, and returns `ResourceExhausted` as a time, with `0001-01-01T00:00:00Z` for none.
with
  lines as (
    select kind, body
    from read_json($files, format = 'newline_delimited', records = true, columns = {kind: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  listed as (select unnest(body::json[]) as item from lines where kind = 'list'),
  seen as (select body as item from lines where kind = 'read'),
  items as (
    select
      listed.item,
      coalesce(listed.item ->> 'Namespace', '') as namespace,
      json_merge_patch(coalesce(seen.item, '{}'::json), listed.item) as known,
      listed.item ->> 'ResourceExhausted' as exhausted,
    from listed
    left join seen
      on (seen.item ->> 'ID') = (listed.item ->> 'ID')
      and coalesce(seen.item ->> 'Namespace', '') = coalesce(listed.item ->> 'Namespace', '')
  )
select
  item ->> 'ID' as volume_id,
  item ->> 'ExternalID' as external_id,
  namespace,
  item ->> 'Name' as name,
  case
    when len(item -> '$.Topologies[*].Segments') > 0 then to_json(item -> '$.Topologies[*].Segments') -- null stands beside objects
    else item -> 'Topologies'
  end as topologies,
  item ->> 'AccessMode' as access_mode,
  item ->> 'AttachmentMode' as attachment_mode,
  (item ->> 'CurrentReaders')::bigint as current_readers,
  (item ->> 'CurrentWriters')::bigint as current_writers,
  (item ->> 'Schedulable')::boolean as schedulable,
  item ->> 'PluginID' as plugin_id,
  item ->> 'Provider' as provider,
  (item ->> 'ControllerRequired')::boolean as controller_required,
  (item ->> 'ControllersHealthy')::bigint as controllers_healthy,
  (item ->> 'ControllersExpected')::bigint as controllers_expected,
  (item ->> 'NodesHealthy')::bigint as nodes_healthy,
  (item ->> 'NodesExpected')::bigint as nodes_expected,
  case
    when exhausted like '0001-01-01T%' then 0
    when exhausted like '%-%T%' then epoch(exhausted::timestamptz)::bigint
    else exhausted::bigint
  end as resource_exhausted,
  (item ->> 'CreateIndex')::ubigint as create_index,
  (item ->> 'ModifyIndex')::ubigint as modify_index,
  known -> 'RequestedCapabilities' as requested_capabilities,
  coalesce(nullif(known ->> 'Version', ''), known ->> 'ProviderVersion') as provider_version,
  (known ->> 'Capacity')::bigint as capacity_bytes,
  (known ->> 'RequestedCapacityMin')::bigint as requested_capacity_min_bytes,
  (known ->> 'RequestedCapacityMax')::bigint as requested_capacity_max_bytes,
  known -> 'MountOptions' as mount_options,
  known -> 'Parameters' as parameters,
  make_timestamptz(nullif((known ->> 'CreateTime')::bigint, 0) // 1000) as created_at,
  make_timestamptz(nullif((known ->> 'ModifyTime')::bigint, 0) // 1000) as modified_at,
  json_merge_patch(
    known,
    '{"ID": null, "ExternalID": null, "Namespace": null, "Name": null, "Topologies": null, "AccessMode": null, "AttachmentMode": null, "CurrentReaders": null, "CurrentWriters": null, "Schedulable": null, "PluginID": null, "Provider": null, "ControllerRequired": null, "ControllersHealthy": null, "ControllersExpected": null, "NodesHealthy": null, "NodesExpected": null, "ResourceExhausted": null, "CreateIndex": null, "ModifyIndex": null, "RequestedCapabilities": null, "Allocations": null, "ReadAllocs": null, "WriteAllocs": null, "Version": null, "ProviderVersion": null, "Capacity": null, "RequestedCapacityMin": null, "RequestedCapacityMax": null, "MountOptions": null, "Parameters": null, "CreateTime": null, "ModifyTime": null, "Secrets": null}'
  ) as extra,
from items
