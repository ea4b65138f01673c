-- grain: one row per storage plugin, and whether it can list; not known where its snapshots do not tell their volumes, each of which may have one
with
  lines as (
    select
      plugin_id,
      error,
      state,
      list_bool_or(list_transform(body."Snapshots", lambda item: coalesce(item ->> 'ExternalSourceVolumeID', item ->> 'SourceVolumeID', '') <> '')) as tells,
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {plugin_id: 'VARCHAR', error: 'VARCHAR', state: 'VARCHAR', body: 'STRUCT("Snapshots" JSON[])'},
      maximum_object_size = $longest_line
    )
  )
select
  plugin_id,
  if(max(state) = 'unknown' or not bool_or(tells), null, max(error) is null) as supported,
  max(error) as error,
  null as extra,
from lines
group by plugin_id
