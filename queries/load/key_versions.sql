-- grain: one row per version of a key
with
  responses as (
    select name, body.data as data
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      ignore_errors = true, -- a field of another type is null; a damaged line still fails the source, as `keys` reads it without this
      columns = {name: 'VARCHAR', body: 'STRUCT(data STRUCT(keys MAP(VARCHAR, JSON), versions MAP(VARCHAR, JSON)))'},
      maximum_object_size = $longest_line
    )
  ),
  items as (select name, unnest(map_entries(coalesce(data.keys, data.versions))) as item from responses)
select
  name as key_name,
  item.key::bigint as version,
  read_time(item.value ->> 'creation_time') as creation_time,
  item.value ->> 'public_key' as public_key,
  json_merge_patch(item.value, '{"creation_time": null, "public_key": null}') as extra,
from items
