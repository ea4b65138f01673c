-- grain: one row per version of a mesh role
-- subject: mesh role
-- title: Mesh roles
-- table: mesh_roles
-- order: 8
select
  -- as the rule management-role names it
  if(
    count(distinct if(valid_to is null, mount, null)) over (partition by target, name) > 1,
    concat_ws('/', mount, name),
    name
  ) as subject_id,
  name as subject_name,
  null::varchar as place,
  version.*,
from mesh_roles_history as version
