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
      list(coalesce(nullif(item ->> 'PluginID', ''), queried_id)) over (partition by item ->> 'ID') as plugin_ids,
    from items
  ),
  assigned as (
    select listed.*, len(list_filter(unlisted.ids, lambda id: starts_with(id, queried_id))) as unlisted_longer
    from listed, unlisted
    where
      by_prefix is not true
      or own_id is not null
      or len(list_filter(plugin_ids, lambda id: id <> queried_id and starts_with(id, queried_id))) = 0
  ),
  -- a plugin may list a snapshot twice: what differs between the two is not known
  compared as (
    select *, coalesce(own_id, queried_id) as plugin_id, min(item::varchar) over same <> max(item::varchar) over same as differs
    from assigned
    window same as (partition by coalesce(own_id, queried_id), item ->> 'ID')
    qualify row_number() over same = 1
  ),
  items_known as (select * replace (if(differs, json_object('ID', item ->> 'ID'), item) as item) from compared)
select
  plugin_id,
  item ->> 'ID' as snapshot_id,
  case when by_prefix and own_id is null and unlisted_longer > 0 then true end as is_ambiguous,
  item ->> 'ExternalSourceVolumeID' as external_source_volume_id, -- `SourceVolumeID` is the ID of the volume in the service, and empty in Nomad
  nullif(try_cast(item ->> 'SizeBytes' as bigint), 0) as size_bytes, -- 0: the driver does not know it (CSI specification)
  read_time(item ->> 'CreateTime') as created_at,
  try_cast(item ->> 'IsReady' as boolean) as is_ready,
  item -> 'Parameters' as parameters,
  json_merge_patch(
    item,
    '{"PluginID": null, "ID": null, "ExternalSourceVolumeID": null, "SourceVolumeID": null, "SizeBytes": null, "CreateTime": null, "IsReady": null, "Parameters": null}'
  ) as extra,
from items_known
