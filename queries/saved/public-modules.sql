-- title: Which public modules are in use
-- description: Modules of the public registry, and those whose registry is not known, with the workspaces that use them.
select target, name, source, version, registry_type, workspace_count, workspaces
from modules
where registry_type is distinct from 'private'
order by registry_type nulls last, workspace_count desc nulls last, target, name, source, version;
