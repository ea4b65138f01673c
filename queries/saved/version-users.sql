-- title: Who would be affected by dropping a version
-- description: Workspaces that use a version of the tool, of a provider or of a module, with their project.
-- param: version text - the version, such as 1.5.7
-- param: name text = '' - only of the provider or module of this name; `terraform` for the tool
with used as (
  select target, 'terraform' as name, version, workspaces from tf_versions
  union all by name select target, name, version, workspaces from providers
  union all by name select target, name, version, workspaces from modules
),
names as (
  select target, name, version, trim(unnest(string_split(workspaces, ','))) as workspace_name
  from used
  where version = $version and ($name = '' or name = $name)
)
select names.name, names.version, names.target, workspaces.project_name, names.workspace_name, workspaces.current_run_applied_at
from names
left join workspaces using (target, workspace_name)
order by names.name, names.target, workspaces.project_name, names.workspace_name;
