-- grain: one row per key in a provider; `purpose` is a list in the API document and comma-separated text in the real product
with
  responses as (
    select name as provider_name, key_name, body.data as data
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {name: 'VARCHAR', key_name: 'VARCHAR', body: 'STRUCT(data JSON)'},
      maximum_object_size = $longest_line
    )
  )
select
  provider_name,
  key_name,
  data ->> 'name' as distributed_name,
  data ->> 'protection' as protection,
  list_sort(
    case json_type(data -> 'purpose')
      when 'ARRAY' then (data -> 'purpose')::varchar[]
      when 'VARCHAR' then list_transform(string_split(nullif(data ->> 'purpose', ''), ','), lambda word: trim(word))
    end
  ) as purpose,
  data -> 'versions' as versions,
  json_merge_patch(data, '{"name": null, "protection": null, "purpose": null, "versions": null}') as extra,
from responses
