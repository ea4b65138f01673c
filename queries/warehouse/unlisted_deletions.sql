-- Deleted rows of plugins that could not be listed: whether they are gone is unknown. $files: the landing
select count(*) as rows
from delta_{{table}} as delta
join {{history}} as version on version.rowid = delta.history_row
where
  delta.stage_row is null
  and version.plugin_id in (
    select plugin_id
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {plugin_id: 'VARCHAR', error: 'VARCHAR'},
      maximum_object_size = $longest_line
    )
    where error is not null
  );
