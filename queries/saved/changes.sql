-- title: What changed since a day
-- description: Rows that appeared, changed or went away, by table and target.
-- param: since timestamp = date_trunc('week', now()) - the first moment that counts; this Monday by default
with versions as (
  select 'workspaces' as table_name, target, external_id as key, workspace_name as name, valid_from, valid_to from workspaces_history
  union all by name select 'agents' as table_name, target, agent_id as key, name, valid_from, valid_to from agents_history
  union all by name select 'agent_pools' as table_name, target, pool_id as key, name, valid_from, valid_to from agent_pools_history
  union all by name select 'keys' as table_name, target, name as key, name, valid_from, valid_to from keys_history
  union all by name select 'kms_providers' as table_name, target, name as key, name, valid_from, valid_to from kms_providers_history
  union all by name select 'volumes' as table_name, target, concat(namespace, '/', volume_id) as key, name, valid_from, valid_to from volumes_history
  union all by name select 'acl_policies' as table_name, target, name as key, name, valid_from, valid_to from acl_policies_history
  union all by name select 'ca_roots' as table_name, target, root_id as key, name, valid_from, valid_to from ca_roots_history
),
numbered as (
  select
    *,
    lag(valid_to) over rows_of_key as previous_end,
    lead(valid_from) over rows_of_key as next_start
  from versions
  window rows_of_key as (partition by table_name, target, key order by valid_from)
),
changes as (
  select table_name, target, key, name, valid_from as changed_at, if(previous_end is not distinct from valid_from, 'changed', 'new') as change
  from numbered
  union all by name
  select table_name, target, key, name, valid_to as changed_at, 'gone' as change
  from numbered
  where valid_to is not null and next_start is distinct from valid_to
)
select changed_at, change, table_name, target, name, key
from changes
where changed_at >= $since::timestamptz
order by changed_at desc, table_name, target, name, key;
