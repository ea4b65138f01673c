-- grain: one row per snapshot, under the plugin that it names, else as in external_volumes.sql; `CreateTime` is in Unix seconds in the real product, and may be in nanoseconds (docs/services/scheduler.md#snapshots)
with
  lines as (
    select plugin_id, match = 'prefix' as by_prefix, error, body
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {plugin_id: 'VARCHAR', match: 'VARCHAR', error: 'VARCHAR', body: 'STRUCT("Snapshots" JSON[])'},
      maximum_object_size = $longest_line
    )
  ),
  unlisted as (select coalesce(list(plugin_id) filter (where error is not null), []) as ids from lines),
  items as (select plugin_id as queried_id, by_prefix, unnest(body."Snapshots") as item from lines),
  listed as (
    select
      *,
      nullif(item ->> 'PluginID', '') as own_id,
      (item ->> 'CreateTime')::hugeint as created,
      list(coalesce(nullif(item ->> 'PluginID', ''), queried_id)) over (partition by item ->> 'ID') as plugin_ids,
    from items
  ),
  assigned as (
    select listed.*, len(list_filter(unlisted.ids, lambda id: id <> queried_id and starts_with(id, queried_id))) as unlisted_longer
    from listed, unlisted
    where
      by_prefix is not true
      or own_id is not null
      or len(list_filter(plugin_ids, lambda id: id <> queried_id and starts_with(id, queried_id))) = 0
  )
select distinct on (coalesce(own_id, queried_id), item ->> 'ID')
  coalesce(own_id, queried_id) as plugin_id,
  item ->> 'ID' as snapshot_id,
  case when by_prefix and own_id is null and unlisted_longer > 0 then true end as is_ambiguous,
  coalesce(nullif(item ->> 'ExternalSourceVolumeID', ''), item ->> 'SourceVolumeID') as external_source_volume_id,
  nullif((item ->> 'SizeBytes')::bigint, 0) as size_bytes, -- 0: the driver does not know it (CSI specification)
  case
    when created <= 0 then null
    when created >= 100000000000000000 then make_timestamptz((created // 1000)::bigint)
    when created >= 100000000000000 then make_timestamptz(created::bigint)
    when created >= 100000000000 then make_timestamptz((created * 1000)::bigint)
    else make_timestamptz((created * 1000000)::bigint)
  end as created_at,
  (item ->> 'IsReady')::boolean as is_ready,
  item -> 'Parameters' as parameters,
  json_merge_patch(
    item,
    '{"PluginID": null, "ID": null, "ExternalSourceVolumeID": null, "SourceVolumeID": null, "SizeBytes": null, "CreateTime": null, "IsReady": null, "Parameters": null}'
  ) as extra,
from assigned
