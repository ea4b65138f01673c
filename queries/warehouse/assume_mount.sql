-- Gives rows that name no mount the first one of their target: they are of a version that knew one mount only. It makes no version.
-- $mounts: JSON objects of a target and its mount
update mesh_roles_history
set mount = named.mount
from (select unnest(from_json($mounts, '[{"target": "VARCHAR", "mount": "VARCHAR"}]'), recursive := true)) as named
where mesh_roles_history.target = named.target and mesh_roles_history.mount is null;
