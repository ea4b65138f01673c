-- grain: one row per saved view, with the outcome of running it
select
  view_id,
  if(error is null, 'ok', 'failed') as status,
  rows as result_rows,
  error,
  null as extra,
from read_json(
  $files,
  format = 'newline_delimited',
  records = true,
  columns = {view_id: 'VARCHAR', error: 'VARCHAR', rows: 'BIGINT'},
  maximum_object_size = $longest_line
)
