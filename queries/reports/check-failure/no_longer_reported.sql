-- grain: one row per workspace that failed at the previous complete pull and has no assessment now
-- title: No longer reported
-- about: Failing at the previous complete pull, and deleted or without counts now. They do not count as resolved.
-- empty: None.
-- labels: workspace_name=Workspace; project_name=Project; checks_that_failed=Checks that failed; is_now=Now
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  before.target,
  before.workspace_name,
  before.project_name,
  before.checks_failed as checks_that_failed,
  case when now.external_id is null then 'deleted' else 'not reported' end as is_now,
  before.external_id,
from workspaces_before($as_of) as before
left join workspaces_at($as_of) as now
  on now.target = before.target and now.external_id = before.external_id
where before.checks_failed > 0 and now.checks_failed is null
order by is_now, before.workspace_name, before.target, before.external_id;
