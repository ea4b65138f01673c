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
  to_json(
    map_from_entries(
      list_filter(
        map_entries(body),
        lambda field: field.key not in ('Name', 'Description', 'Rules', 'JobACL', 'CreateIndex', 'ModifyIndex')
      )
    )
  ) as extra,
from responses
