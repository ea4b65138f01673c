-- grain: one row per target
select
  body ->> 'accessor_id' as accessor_id,
  body ->> 'name' as name,
  body ->> 'type' as type,
  (body -> 'policies')::varchar[] as policies,
  (body -> 'roles')::varchar[] as roles,
  (body ->> 'is_management')::boolean as is_management,
  nullif(body -> 'rights', 'null'::json) as rights,
  (body ->> 'sees_every_namespace')::boolean as sees_every_namespace,
  (body ->> 'expires_at')::timestamptz as expires_at,
  (body ->> 'created_at')::timestamptz as created_at,
  nullif(body -> 'extra', 'null'::json) as extra,
from read_json($files, format = 'newline_delimited', records = true, columns = {body: 'JSON'}, maximum_object_size = $longest_line)
