-- title: The history of a workspace
-- description: Every version of a workspace: when it changed, and the columns that people ask for.
-- param: workspace text - name or ID of the workspace
select
  valid_from,
  valid_to,
  target,
  project_name,
  workspace_name,
  workspace_iac_version,
  current_run_status,
  current_run_applied_at,
  drifted,
  resources_drifted,
  checks_failed,
  checks_errored
from workspaces_history
where $workspace in (workspace_name, external_id)
order by target, valid_from;
