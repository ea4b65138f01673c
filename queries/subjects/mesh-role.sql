-- grain: one row per version of a mesh role
-- subject: mesh role
-- title: Mesh roles
-- table: mesh_roles
-- order: 8
select name as subject_id, name as subject_name, null::varchar as place, version.*
from mesh_roles_history as version
