-- Rows of an explorer view from JSON pages; hyphenated and snake_case names are both read.
-- {{select}}: an expression a column over `attributes`. $files: landing files, one page a line.
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
  items as (select unnest(body.data, recursive := true) from pages)
select {{select}}
from items
