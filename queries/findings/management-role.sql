-- rule: A mesh role issues management tokens.
-- severity: critical
-- sources: mesh_roles
-- subject: mesh role
-- many: mesh roles issue management tokens
-- repair: let the role issue tokens with a policy of its own
-- grain: one row per such role; unknown where neither its policies nor a known token type tell what it issues, or where it has no policy,
-- role or identity at all: a service accepts no such role
-- A role is known by its name, or with its mount where the target has the name twice.
-- A role makes management tokens by its token type, or by the mesh's built-in policy `global-management`, by name or ID. What the mesh roles
-- that it names contain is not known.
with
  granted as (
    select
      *,
      count(*) over (partition by target, name) > 1 as is_repeated,
      name || if(count(distinct mount) over (partition by target) > 1, coalesce(' of mount ' || mount, ''), '') as label,
      management_policies(consul_policies) as policies,
      issues_management(mesh_roles) as issues,
    from mesh_roles
  ),
  assessed as (
    select
      *,
      coalesce(lower(token_type) = 'management', false) as has_type,
      coalesce(len(policies), 0) > 0 as has_policies,
    from granted
  )
select
  target,
  if(is_repeated, concat_ws('/', mount, name), name) as subject_id,
  name as subject_name,
  case
    when has_type then format('Mesh role {} issues management tokens', label)
    when has_policies then format('Mesh role {} issues tokens with the policy {}', label, array_to_string(policies, ', '))
    when token_type is null then 'its token type is not reported'
    when lower(token_type) = 'client' then 'the service does not tell what its tokens may do'
    else format('its token type is {}, which is not known', token_type)
  end as title,
  json_object(
    'role_name', name,
    'mount', mount,
    'token_type', token_type,
    'lease', coalesce(ttl, lease),
    'has_policy', policy is not null,
    'consul_policies', coalesce(consul_policies, []),
    'consul_roles', coalesce(consul_roles, []),
    'partition', partition,
    'consul_namespace', consul_namespace
  ) as detail,
  issues is null as unknown,
from assessed
where issues is not false
