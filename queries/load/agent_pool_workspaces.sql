-- grain: one row per pool, workspace and relation
with
  pools as (
    select unnest(body.data) as pool
    from read_json(
      $files,
      format = 'newline_delimited',
      records = true,
      columns = {body: 'STRUCT(data STRUCT(id VARCHAR, relationships JSON)[])'},
      maximum_object_size = $longest_line
    )
  ),
  related as (
    select pool.id as pool_id, 'attached' as relation, unnest(pool.relationships -> '$.workspaces.data[*]') ->> 'id' as workspace_id
    from pools
    union all
    select pool.id, 'allowed', unnest(pool.relationships -> '$."allowed-workspaces".data[*]') ->> 'id'
    from pools
  )
select distinct pool_id, workspace_id, relation, null as extra
from related
