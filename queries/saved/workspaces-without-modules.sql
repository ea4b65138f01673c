-- title: Workspaces that use no module
-- description: Their configuration is written without modules. A workspace that does not report its modules is not listed.
select target, project_name, workspace_name, current_rum_count as resources, vcs_repo_identifier as repository
from workspaces
where module_count = 0
order by resources desc nulls last, target, project_name, workspace_name;
