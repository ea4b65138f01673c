-- grain: one row per row of a saved view's result, in a landing of an earlier version; otherwise the rows are landed as CSV
-- `offset` is the number of rows on earlier pages
with
  pages as (
    select view_id, "offset", body.data as data
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {
        view_id: 'VARCHAR',
        "offset": 'BIGINT',
        body: 'STRUCT(data STRUCT(id VARCHAR, "type" VARCHAR, attributes MAP(VARCHAR, JSON))[])'
      },
      maximum_object_size = $longest_line
    )
    where body is not null
  ),
  items as (
    select view_id, "offset" + generate_subscripts(data, 1) as position, unnest(data) as item
    from pages
  ),
  named as (
    select *, list_transform(map_keys(item.attributes), lambda name: replace(name, '-', '_')) as names
    from items
  )
select
  view_id,
  position,
  item.id as row_id,
  item."type" as row_type,
  case
    when len(names) = len(list_distinct(names)) then to_json(map(names, map_values(item.attributes)))
    -- a service may send a field in both spellings: the snake_case one is kept
    else to_json(map_from_entries(list_transform(
      list_filter(
        map_entries(item.attributes),
        lambda field: not contains(field.key, '-') or not list_contains(map_keys(item.attributes), replace(field.key, '-', '_'))
      ),
      lambda field: {k: replace(field.key, '-', '_'), v: field.value}
    )))
  end as attributes,
  null as extra,
from named
