-- rule: A workspace has no connected repository.
-- severity: info
-- sources: workspaces
-- needs: vcs_repo_identifier
-- subject: workspace
-- many: workspaces{of} have no connected repository
-- repair: connect the repository of the configuration; ask the owner of the project
-- grain: one row per such workspace
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  format('Workspace {} has no connected repository', coalesce(workspace_name, external_id)) as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'resources', current_rum_count
  ) as detail,
  'project ' || coalesce(project_name, project_external_id) as group_key,
from workspaces
where vcs_repo_identifier is null
