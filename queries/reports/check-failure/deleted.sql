-- grain: one row per workspace that failed before and is no longer there
-- title: Deleted
-- about: They failed, and do not exist any more. They do not count as resolved.
-- empty: None was deleted.
-- labels: workspace_name=Workspace; project_name=Project; checks_that_failed=Checks that failed
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  before.target,
  before.workspace_name,
  before.project_name,
  nullif(before.checks_failed, 0) as checks_that_failed,
  before.external_id,
from workspaces_before($as_of) as before
join workspace_changes($as_of, null) as changes using (target, external_id)
where changes.failing_change = 'deleted'
order by before.workspace_name, before.target, before.external_id;
