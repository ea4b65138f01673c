-- grain: one row per subject that has a page and relation: the number of related subjects, and the first of them
-- parameters: $as_of; $limit: related subjects per relation
with
  workspaces_then as (from workspaces_at($as_of)),
  pools as (from agent_pools_at($as_of)),
  uses as (
    select target, pool_id, workspace_id, array_to_string(list_sort(list(relation)), ', ') as relation
    from agent_pool_workspaces_at($as_of)
    group by target, pool_id, workspace_id
  ),
  volumes_then as (
    select *, concat_ws('/', namespace, volume_id) as subject_id, coalesce(name, volume_id) as subject_name
    from volumes_at($as_of)
  ),
  stored as (
    select *, concat_ws('/', plugin_id, external_id) as subject_id
    from external_volumes_at($as_of)
  ),
  snapshots as (
    select *, concat_ws('/', plugin_id, snapshot_id) as subject_id
    from volume_snapshots_at($as_of)
  ),
  pairs as (
    select
      target,
      'workspace' as one_type,
      external_id as one_id,
      workspace_name as one_name,
      'workspaces' as one_label,
      'project' as other_type,
      project_external_id as other_id,
      project_name as other_name,
      'project' as other_label,
    from workspaces_then
    union all
    select
      uses.target,
      'workspace',
      workspace_id,
      coalesce(workspaces_then.workspace_name, workspace_id),
      'workspaces, ' || relation,
      'agent pool',
      uses.pool_id,
      pools.name,
      'agent pool, ' || relation,
    from uses
    left join pools using (target, pool_id)
    left join workspaces_then on workspaces_then.target = uses.target and workspaces_then.external_id = uses.workspace_id
    union all
    select
      agents.target,
      'agent',
      agent_id,
      coalesce(agents.name, agent_id),
      'agents',
      'agent pool',
      agents.pool_id,
      pools.name,
      'agent pool',
    from agents_at($as_of) as agents
    left join pools using (target, pool_id)
    union all
    select target, 'key', key_name, key_name, 'keys', 'KMS provider', provider_name, provider_name, 'distributed to'
    from key_distributions_at($as_of)
    union all
    select
      volumes_then.target,
      'volume',
      volumes_then.subject_id,
      volumes_then.subject_name,
      'registered as',
      'external volume',
      stored.subject_id,
      stored.external_id,
      'stored as',
    from volumes_then
    join stored
      on
        stored.target = volumes_then.target
        and stored.external_id = volumes_then.external_id
        and stored.plugin_id = volumes_then.plugin_id
    union all
    select
      volumes_then.target,
      'volume',
      volumes_then.subject_id,
      volumes_then.subject_name,
      'snapshot of',
      'snapshot',
      snapshots.subject_id,
      snapshots.snapshot_id,
      'snapshots',
    from volumes_then
    join snapshots
      on
        snapshots.target = volumes_then.target
        and snapshots.external_source_volume_id = volumes_then.external_id
        and snapshots.plugin_id = volumes_then.plugin_id
  ),
  related as (
    select target, one_type as subject_type, one_id as subject_id, other_label as relation, other_type as related_type, other_id as related_id, other_name as related_name
    from pairs
    union all
    select target, other_type, other_id, one_label, one_type, one_id, one_name
    from pairs
  )
select
  related.subject_type,
  related.target,
  related.subject_id,
  relation,
  count(*) as total,
  arg_min(
    {'target': related.target, 'type': related_type, 'id': related_id, 'name': related_name},
    (related_name, related_id),
    $limit::bigint
  ) as subjects,
from related
semi join subject_pages as pages
  on
    pages.subject_type = related.subject_type
    and pages.target = related.target
    and pages.subject_id = related.subject_id
where related_id is not null
group by related.subject_type, related.target, related.subject_id, relation
order by related.subject_type, related.target, related.subject_id, relation
