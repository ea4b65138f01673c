-- grain: one row per workspace that drifted at the previous complete pull and has no assessment now
-- title: No longer reported
-- about: Drifting at the previous complete pull, and not assessed or deleted now. They do not count as resolved.
-- empty: None.
-- labels: workspace_name=Workspace; project_name=Project; is_now=Now
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  before.target,
  before.workspace_name,
  before.project_name,
  before.resources_drifted,
  case when now.external_id is null then 'deleted' else 'not assessed' end as is_now,
  before.external_id,
from workspaces_before($as_of) as before
left join workspaces_at($as_of) as now
  on now.target = before.target and now.external_id = before.external_id
where before.drifted and now.drifted is null
order by is_now, before.workspace_name, before.target, before.external_id;
