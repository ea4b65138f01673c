-- grain: one row per mesh role, those for management tokens first
-- title: Mesh roles
-- sources: mesh_roles
-- about: A management token has all permissions, and so has a token with the policy global-management.
-- empty: No role is known.
-- labels: name=Role; token_type=Tokens; consul_policies=Policies; lease=Lease; since=Unchanged since
-- subjects: name=mesh role:role_id
-- hidden: role_id
with
  changed as (
    select
      target,
      mount,
      name,
      valid_from,
      (token_type, consul_policies)
        is distinct from lag((token_type, consul_policies)) over (partition by target, mount, name order by valid_from) as is_changed,
    from mesh_roles_history
    where valid_from <= $as_of::timestamptz
  ),
  unchanged as (select target, mount, name, max(valid_from) filter (is_changed) as since from changed group by target, mount, name)
select
  roles.target,
  if(count(distinct roles.mount) over (partition by roles.target) > 1, concat_ws('/', roles.mount, roles.name), roles.name) as name,
  roles.token_type,
  array_to_string(roles.consul_policies, ', ') as consul_policies,
  coalesce(roles.lease, roles.ttl) as lease,
  unchanged.since,
  if(count(*) over (partition by roles.target, roles.name) > 1, concat_ws('/', roles.mount, roles.name), roles.name) as role_id,
from mesh_roles_at($as_of) as roles
left join unchanged on unchanged.target = roles.target and unchanged.name = roles.name and unchanged.mount is not distinct from roles.mount
order by
  coalesce(issues_management(roles), false) desc,
  roles.name,
  roles.mount,
  roles.target;
