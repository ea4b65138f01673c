-- Rows of an explorer view from JSON pages; hyphenated and snake_case names are both read.
-- {{select}}: an expression a column over `attributes`; {{known}}: the spellings that they read. $files: landing files, one page a line.
with
  pages as (
    select body
    from read_json(
      $files,
      format = 'newline_delimited',
      columns = {body: 'STRUCT(data STRUCT(id VARCHAR, attributes JSON)[])'},
      maximum_object_size = $longest_line
    )
  ),
  items as (select unnest(body.data, recursive := true) from pages),
  named as (select *, attributes::map(varchar, varchar) as fields from items),
  other as (
    select
      attributes,
      list_filter(
        map_entries(fields),
        lambda field: field.value <> ''
          and not list_contains({{known}}, field.key)
          -- a service may send one field under both spellings; the snake_case one is then kept
          and not (contains(field.key, '-') and list_contains(map_keys(fields), replace(field.key, '-', '_')))
      ) as others,
    from named
  )
select
  {{select}},
  to_json(map_from_entries(list_sort(list_transform(others, lambda field: {k: replace(field.key, '-', '_'), v: field.value})))) as extra,
from other
