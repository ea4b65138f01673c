-- grain: one row per pool, workspace and relation
with
  pools as (
    select unnest(body.data) as item
    from read_json($files, format = 'newline_delimited', columns = {body: 'STRUCT(data JSON[])'}, maximum_object_size = $longest_line)
  ),
  related as (
    select item ->> 'id' as pool_id, 'attached' as relation, unnest((item -> '$.relationships.workspaces.data')::json[]) as workspace
    from pools
    union all
    select item ->> 'id', 'allowed', unnest((item -> '$.relationships."allowed-workspaces".data')::json[])
    from pools
  )
select distinct pool_id, workspace ->> 'id' as workspace_id, relation
from related
