-- grain: one row per snapshot; `CreateTime` is in Unix seconds in the real product, and may be in nanoseconds (docs/services/scheduler.md#snapshots)
with
  pages as (
    select plugin_id, unnest(body."Snapshots") as item
    from read_json(
      $files,
      format = 'newline_delimited',
      columns = {plugin_id: 'VARCHAR', body: 'STRUCT("Snapshots" JSON[])'},
      maximum_object_size = $longest_line
    )
  ),
  items as (select *, (item ->> 'CreateTime')::hugeint as created from pages)
select distinct on (coalesce(nullif(item ->> 'PluginID', ''), plugin_id), item ->> 'ID')
  coalesce(nullif(item ->> 'PluginID', ''), plugin_id) as plugin_id,
  item ->> 'ID' as snapshot_id,
  coalesce(nullif(item ->> 'ExternalSourceVolumeID', ''), item ->> 'SourceVolumeID') as external_source_volume_id,
  (item ->> 'SizeBytes')::bigint as size_bytes,
  case
    when created <= 0 then null
    when created >= 100000000000000000 then make_timestamptz((created // 1000)::bigint)
    when created >= 100000000000000 then make_timestamptz(created::bigint)
    when created >= 100000000000 then make_timestamptz((created * 1000)::bigint)
    else make_timestamptz((created * 1000000)::bigint)
  end as created_at,
  (item ->> 'IsReady')::boolean as is_ready,
  json_merge_patch(
    item,
    '{"PluginID": null, "ID": null, "ExternalSourceVolumeID": null, "SourceVolumeID": null, "SizeBytes": null, "CreateTime": null, "IsReady": null, "Parameters": null}'
  ) as extra,
from items
