-- grain: one row per agent pool
with
  pages as (
    select unnest(body.data) as item
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {body: 'STRUCT(data STRUCT(id VARCHAR, attributes JSON, relationships JSON)[])'},
      maximum_object_size = $longest_line
    )
  ),
  items as (
    select item.id as pool_id, item.attributes, item.relationships
    from pages
  ),
  named as (
    select pool_id, unnest(map_entries(from_json(relationships, '"MAP(VARCHAR, JSON)"'))) as entry
    from items
  ),
  counted as (
    select
      pool_id,
      entry.key as name,
      case json_type(entry.value, '$.data') -- a copy of `data` may take many megabytes
        -- a member without an ID is not known; the list of members is read once
        when 'ARRAY'
          then list_transform(
            [from_json(entry.value, '{"data": [{"id": "VARCHAR"}]}').data],
            lambda found: if(list_bool_or(list_transform(found, lambda one: one.id is null)), null, len(found))
          )[1]
        when 'OBJECT' then if(json_type(entry.value, '$.data.id') = 'VARCHAR', 1, null)
        -- as JSON:API has it where one resource may be related, and none is
        when 'NULL' then if(entry.key in ('workspaces', 'allowed-workspaces'), null, 0)
      end as members,
    from named
  ),
  related as (
    select pool_id, to_json(map_from_entries(list((name, members) order by name))) as relationships
    from counted
    group by pool_id
  )
select
  pool_id,
  attributes ->> 'name' as name,
  read_time(attributes ->> 'created-at') as created_at,
  try_cast(attributes ->> 'organization-scoped' as boolean) as organization_scoped,
  try_cast(attributes ->> 'agent-count' as bigint) as agent_count,
  related.relationships,
  json_merge_patch(
    attributes,
    '{"name": null, "created-at": null, "organization-scoped": null, "agent-count": null}'
  ) as extra,
from items
left join related using (pool_id)
