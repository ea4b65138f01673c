-- grain: one row per role; the real product returns `lease` in seconds
with
  responses as (
    select name, body.data as data
    from read_json($files, format = 'newline_delimited', columns = {name: 'VARCHAR', body: 'STRUCT(data JSON)'}, maximum_object_size = $longest_line)
  )
select
  name,
  data ->> 'token_type' as token_type,
  data ->> 'policy' as policy,
  data ->> 'lease' as lease,
  json_merge_patch(data, '{"name": null, "token_type": null, "policy": null, "lease": null}') as extra,
from responses
