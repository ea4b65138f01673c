-- grain: one row per row of a saved view's result; `offset` is the number of rows on earlier pages
with
  pages as (
    select view_id, "offset", body.data as data
    from read_json(
      $files,
      format = 'newline_delimited',
      columns = {view_id: 'VARCHAR', "offset": 'BIGINT', body: 'STRUCT(data JSON[])'},
      maximum_object_size = $longest_line
    )
    where body is not null
  ),
  items as (
    select view_id, "offset" + generate_subscripts(data, 1) as position, unnest(data) as item
    from pages
  ),
  fields as (
    select view_id, position, item ->> 'id' as row_id, item ->> 'type' as row_type, (item -> 'attributes')::map(varchar, json) as fields
    from items
  )
select
  view_id,
  position,
  row_id,
  row_type,
  -- a service may send a field in both spellings: the snake_case one is kept
  to_json(map_from_entries(list_transform(
    list_filter(
      map_entries(fields),
      lambda field: not contains(field.key, '-') or not list_contains(map_keys(fields), replace(field.key, '-', '_'))
    ),
    lambda field: {k: replace(field.key, '-', '_'), v: field.value}
  ))) as attributes,
from fields
