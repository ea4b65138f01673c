-- rule: A mesh role hands out management tokens.
-- severity: critical
-- sources: mesh_roles
-- subject: mesh role
-- grain: one row per such role; unknown where the kind of its tokens is not told
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when token_type is null then 'the kind of its tokens is not told'
    else format('Mesh role {} hands out management tokens', name)
  end as title,
  json_object('role_name', name, 'token_type', token_type, 'lease', lease, 'has_policy', policy is not null) as detail,
  token_type is null as unknown,
from mesh_roles
where token_type is null or lower(token_type) = 'management'
