-- grain: one row per version of a workspace
-- subject: workspace
-- title: Workspaces
-- table: workspaces
-- order: 1
select external_id as subject_id, workspace_name as subject_name, project_name as place, version.*
from workspaces_history as version
