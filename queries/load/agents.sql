-- grain: one row per agent
with
  pages as (
    select pool_id, unnest(body.data) as item
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {pool_id: 'VARCHAR', body: 'STRUCT(data JSON[])'},
      maximum_object_size = $longest_line
    )
  ),
  items as (
    select
      pool_id,
      item ->> 'id' as agent_id,
      item -> 'attributes' as attributes,
      read_time(attributes ->> 'last-ping-at') as pinged_at,
    from pages
  )
select
  agent_id,
  pool_id,
  attributes ->> 'name' as name,
  attributes ->> 'status' as status,
  attributes ->> 'ip-address' as ip_address,
  -- a service may write a time that it does not know as that of the year 1 or 1970
  if(pinged_at >= timestamptz '2000-01-01 00:00:00+00', pinged_at, null) as last_ping_at,
  json_merge_patch(attributes, '{"name": null, "status": null, "ip-address": null, "last-ping-at": null}') as extra,
from items
