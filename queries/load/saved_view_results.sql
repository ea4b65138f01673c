-- grain: one row per saved view, with the outcome of running it
-- A landing of an earlier version has the rows themselves, in pages, instead of their number.
select
  view_id,
  case when max(error) is null then 'ok' else 'failed' end as status,
  case when max(error) is null then coalesce(max(rows), sum(len(body.data)), 0) end as result_rows,
  max(error) as error,
  null as extra,
from read_json(
  $files,
  format = 'newline_delimited',
  records = true,
  columns = {view_id: 'VARCHAR', error: 'VARCHAR', rows: 'BIGINT', body: 'STRUCT(data JSON[])'},
  maximum_object_size = $longest_line
)
group by view_id
