-- grain: one row per agent pool
with
  pages as (
    select unnest(body.data) as item
    from read_json($files, format = 'newline_delimited', columns = {body: 'STRUCT(data JSON[])'}, maximum_object_size = $longest_line)
  ),
  items as (select item ->> 'id' as pool_id, item -> 'attributes' as attributes from pages)
select
  pool_id,
  attributes ->> 'name' as name,
  nullif(attributes ->> 'created-at', '')::timestamptz as created_at,
  (attributes ->> 'organization-scoped')::boolean as organization_scoped,
  (attributes ->> 'agent-count')::bigint as agent_count,
  json_merge_patch(
    attributes,
    '{"name": null, "created-at": null, "organization-scoped": null, "agent-count": null}'
  ) as extra,
from items
