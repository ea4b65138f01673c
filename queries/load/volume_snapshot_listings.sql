-- grain: one row per storage plugin, and whether it can list
select
  plugin_id,
  if(max(state) = 'unknown', null, max(error) is null) as supported,
  max(error) as error,
  null as extra,
from read_json(
  $files,
  format = 'newline_delimited',
  records = true,
  columns = {plugin_id: 'VARCHAR', error: 'VARCHAR', state: 'VARCHAR'},
  maximum_object_size = $longest_line
)
group by plugin_id
