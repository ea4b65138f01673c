-- grain: one row per KMS provider
with
  responses as (
    select name, body.data as data
    from read_json($files, format = 'newline_delimited', records = true, columns = {name: 'VARCHAR', body: 'STRUCT(data JSON)'}, maximum_object_size = $longest_line)
  )
select
  name,
  data ->> 'provider' as provider,
  data ->> 'key_collection' as key_collection,
  json_merge_patch(data, '{"name": null, "provider": null, "key_collection": null}') as extra,
from responses
