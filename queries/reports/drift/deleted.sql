-- grain: one row per workspace that drifted before and is no longer there
-- title: Deleted
-- about: They drifted, and do not exist any more. They do not count as resolved.
-- empty: None was deleted.
-- labels: workspace_name=Workspace; project_name=Project; resources_drifted=Resources that drifted
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  before.target,
  before.workspace_name,
  before.project_name,
  if(known_drift(before.drifted, before.resources_drifted) is null, null, before.resources_drifted) as resources_drifted,
  before.external_id,
from workspaces_before($as_of) as before
join workspace_changes($as_of, null) as changes using (target, external_id)
where changes.drift_change = 'deleted'
order by before.workspace_name, before.target, before.external_id;
