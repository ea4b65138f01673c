-- grain: one row per version of a key
with
  responses as (
    select name, coalesce(nullif(body.data -> 'keys', 'null'::json), body.data -> 'versions') as versions
    from read_json($files, format = 'newline_delimited', records = true, columns = {name: 'VARCHAR', body: 'STRUCT(data JSON)'}, maximum_object_size = $longest_line)
  ),
  items as (
    select name, unnest(map_entries(versions::map(varchar, json))) as item
    from responses
    where json_type(versions) = 'OBJECT'
  )
select
  name as key_name,
  item.key::bigint as version,
  read_time(item.value ->> 'creation_time') as creation_time,
  item.value ->> 'public_key' as public_key,
  json_merge_patch(item.value, '{"creation_time": null, "public_key": null}') as extra,
from items
