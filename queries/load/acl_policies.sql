-- grain: one row per ACL policy
with
  responses as (
    select name, grants, body as data
    from read_json($files, format = 'newline_delimited', records = true, columns = {name: 'VARCHAR', grants: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
  )
select
  name,
  data ->> 'Description' as description,
  data ->> 'Rules' as rules,
  if(data ->> 'Rules' is null, null, grants::json::varchar[]) as grants,
  data -> 'JobACL' as job_acl,
  try_cast(data ->> 'CreateIndex' as ubigint) as create_index,
  try_cast(data ->> 'ModifyIndex' as ubigint) as modify_index,
  json_merge_patch(
    data,
    '{"Name": null, "Description": null, "Rules": null, "JobACL": null, "CreateIndex": null, "ModifyIndex": null}'
  ) as extra,
from responses
