-- grain: one row per key; the versions are in `keys` in the API document and in `versions` in the real product
with
  responses as (
    -- without the versions, whose public keys may be nearly all of it: each operator below would parse and keep them
    select name, json_merge_patch(body.data, '{"keys": null, "versions": null}') as data
    from read_json($files, format = 'newline_delimited', records = true, columns = {name: 'VARCHAR', body: 'STRUCT(data JSON)'}, maximum_object_size = $longest_line)
  )
select
  name,
  data ->> 'type' as type,
  try_cast(data ->> 'deletion_allowed' as boolean) as deletion_allowed,
  try_cast(data ->> 'min_enabled_version' as bigint) as min_enabled_version,
  nullif(greatest(try_cast(data ->> 'latest_version' as bigint), 0), 0) as latest_version, -- a key has a version
  json_merge_patch(
    data,
    '{"name": null, "type": null, "deletion_allowed": null, "min_enabled_version": null, "latest_version": null}'
  ) as extra,
from responses
