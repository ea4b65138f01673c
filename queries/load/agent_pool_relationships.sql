-- grain: one row per pool, relationship and related resource; a relationship names one resource or a list of them
with
  pages as (
    select unnest(body.data) as item
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {body: 'STRUCT(data STRUCT(id VARCHAR, relationships JSON)[])'},
      maximum_object_size = $longest_line
    )
  ),
  named as (
    select item.id as pool_id, unnest(map_entries(from_json(item.relationships, '"MAP(VARCHAR, JSON)"'))) as entry
    from pages
  ),
  members as (
    select
      pool_id,
      entry.key as relationship,
      unnest(
        case json_type(entry.value -> 'data')
          when 'ARRAY' then from_json(entry.value -> 'data', '["JSON"]')
          when 'OBJECT' then [entry.value -> 'data']
        end
      ) as member,
    from named
    where entry.key not in ('workspaces', 'allowed-workspaces')
  )
select distinct
  pool_id,
  relationship,
  coalesce(member ->> 'type', '?') as related_type,
  coalesce(member ->> 'id', '?') as related_id,
  null as extra,
from members
