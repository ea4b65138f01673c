-- grain: one row per volume in the storage provider
-- Where a plugin ID is a prefix, the listing of `ab` has the volumes of `ab12` as well: a volume belongs to the plugin with the
-- longest ID under which it is listed. It is ambiguous while such a plugin cannot be listed, or when one listing has it twice.
-- A plugin may list a volume twice. What differs between the two is not known.
with
  lines as (
    select plugin_id, match = 'prefix' as by_prefix, error, body
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {plugin_id: 'VARCHAR', match: 'VARCHAR', error: 'VARCHAR', body: 'STRUCT("Volumes" JSON[])'},
      maximum_object_size = $longest_line
    )
  ),
  unlisted as (select coalesce(list(plugin_id) filter (where error is not null), []) as ids from lines),
  named as (select plugin_id, by_prefix, unnest(body."Volumes") as item from lines),
  compared as (
    select *, min(item::varchar) over same <> max(item::varchar) over same as differs
    from named
    window same as (partition by plugin_id, item ->> 'ExternalID')
    qualify by_prefix or row_number() over same = 1
  ),
  items as (
    select plugin_id, by_prefix, if(differs and by_prefix is not true, json_object('ExternalID', item ->> 'ExternalID'), item) as item
    from compared
  ),
  listed as (
    select
      *,
      item ->> 'ExternalID' as external_id,
      list(plugin_id) over (partition by item ->> 'ExternalID') as plugin_ids,
      count(*) over (partition by plugin_id, item ->> 'ExternalID') as times,
    from items
  ),
  longer as (
    select
      listed.*,
      len(list_filter(plugin_ids, lambda id: id <> coalesce(plugin_id, '') and starts_with(id, coalesce(plugin_id, '')))) as listed_longer,
      len(list_filter(unlisted.ids, lambda id: starts_with(id, plugin_id))) as unlisted_longer,
    from listed, unlisted
  ),
  assigned as (
    select *
    from longer
    where by_prefix is not true or listed_longer = 0
    qualify by_prefix is not true or row_number() over (partition by plugin_id, external_id order by item::varchar) = 1
  )
select
  plugin_id,
  external_id,
  case when by_prefix and plugin_id is not null and (unlisted_longer > 0 or times > 1) then true end as is_ambiguous,
  nullif(try_cast(item ->> 'CapacityBytes' as bigint), 0) as capacity_bytes, -- 0: the driver does not know it (CSI specification)
  item ->> 'SnapshotID' as snapshot_id,
  case
    when json_type(item -> 'PublishedExternalNodeIDs') = 'ARRAY'
      then list_sort(list_filter((item -> 'PublishedExternalNodeIDs')::varchar[], lambda id: id <> '')) -- an empty ID is no node
  end as published_node_ids,
  try_cast(item ->> 'IsAbnormal' as boolean) as is_abnormal,
  item ->> 'Status' as status,
  json_merge_patch(
    item,
    '{"ExternalID": null, "CapacityBytes": null, "SnapshotID": null, "PublishedExternalNodeIDs": null, "IsAbnormal": null, "Status": null}'
  ) as extra,
from assigned
