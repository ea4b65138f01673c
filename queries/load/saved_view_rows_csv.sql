-- grain: one row per row that a saved view returns
-- Without those of a reading that was given up: their positions are not after `skipped`, or the view has an error instead.
-- {{rows}}: the rows of a CSV file; $files: the outcome of each view
with
  views as (
    select view_id, skipped
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {view_id: 'VARCHAR', skipped: 'BIGINT'},
      maximum_object_size = $longest_line
    )
    where skipped is not null
  )
select landed.* replace (landed.position - views.skipped as position)
from ({{rows}}) as landed
join views on views.view_id = landed.view_id and landed.position > views.skipped
