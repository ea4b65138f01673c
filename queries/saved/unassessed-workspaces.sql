-- title: Workspaces without a health assessment
-- description: Drift of these workspaces is unknown, which is not the same as none.
select target, project_name, workspace_name, current_run_applied_at, current_rum_count as resources
from workspaces
where known_drift(drifted, resources_drifted) is null
order by resources desc nulls last, target, project_name, workspace_name;
