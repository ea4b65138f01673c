-- grain: one row per ACL policy
-- Each operator on a document parses it again, with all its rules, and keeps what it has parsed of some thousand rows in memory. So the reader splits it.
with
  responses as (
    select name, grants, body, body['Rules'] ->> '$' as rules
    from read_json($files, format = 'newline_delimited', records = true, columns = {name: 'VARCHAR', grants: 'VARCHAR', body: 'MAP(VARCHAR, JSON)'}, maximum_object_size = $longest_line)
  )
select
  name,
  body['Description'] ->> '$' as description,
  rules,
  if(rules is null, null, grants::json::varchar[]) as grants,
  body['JobACL'] as job_acl,
  try_cast(body['CreateIndex'] ->> '$' as ubigint) as create_index,
  try_cast(body['ModifyIndex'] ->> '$' as ubigint) as modify_index,
  -- as text: a service may repeat a field, which the map of the reader keeps and `map_from_entries` refuses
  concat(
    '{',
    array_to_string(
      [
        concat(to_json(field.key), ':', coalesce(field.value, 'null'))
        for field in map_entries(body)
        if field.key not in ('Name', 'Description', 'Rules', 'JobACL', 'CreateIndex', 'ModifyIndex')
      ],
      ','
    ),
    '}'
  )::json as extra,
from responses
