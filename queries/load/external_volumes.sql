-- grain: one row per volume in the storage provider
with
  pages as (
    select plugin_id, unnest(body."Volumes") as item
    from read_json(
      $files,
      format = 'newline_delimited',
      columns = {plugin_id: 'VARCHAR', body: 'STRUCT("Volumes" JSON[])'},
      maximum_object_size = $longest_line
    )
  )
select
  plugin_id,
  item ->> 'ExternalID' as external_id,
  (item ->> 'CapacityBytes')::bigint as capacity_bytes,
  item ->> 'SnapshotID' as snapshot_id,
  (item -> 'PublishedExternalNodeIDs')::varchar[] as published_node_ids,
  (item ->> 'IsAbnormal')::boolean as is_abnormal,
  item ->> 'Status' as status,
  json_merge_patch(
    item,
    '{"ExternalID": null, "CapacityBytes": null, "SnapshotID": null, "PublishedExternalNodeIDs": null, "IsAbnormal": null, "Status": null}'
  ) as extra,
from pages
