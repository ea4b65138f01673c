-- grain: one row per saved view; the field is named `query-type` or `query_type`
with
  pages as (
    select unnest(body.data) as item
    from read_json($files, format = 'newline_delimited', records = true, columns = {body: 'STRUCT(data JSON[])'}, maximum_object_size = $longest_line)
  ),
  items as (select item ->> 'id' as view_id, item -> 'attributes' as attributes from pages)
select
  view_id,
  attributes ->> 'name' as name,
  coalesce(attributes ->> 'query-type', attributes ->> 'query_type', attributes -> 'query' ->> 'type') as query_type,
  attributes -> 'query' as query,
  read_time(coalesce(attributes ->> 'created-at', attributes ->> 'created_at')) as created_at,
  json_merge_patch(
    attributes,
    '{"name": null, "query-type": null, "query_type": null, "query": null, "created-at": null, "created_at": null}'
  ) as extra,
from items
