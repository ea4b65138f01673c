-- rule: A mesh role issues management tokens.
-- severity: critical
-- sources: mesh_roles
-- subject: mesh role
-- grain: one row per such role; unknown where its token type is not reported
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when token_type is null then 'its token type is not reported'
    else format('Mesh role {} issues management tokens', name)
  end as title,
  json_object('role_name', name, 'token_type', token_type, 'lease', lease, 'has_policy', policy is not null) as detail,
  token_type is null as unknown,
from mesh_roles
where token_type is null or lower(token_type) = 'management'
