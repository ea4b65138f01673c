-- grain: one row per workspace that drifted at the previous complete pull and cannot be judged now
-- title: Lost from sight
-- about: Drifting at the previous complete pull; not assessed or gone now, and therefore not resolved.
-- empty: None.
-- labels: workspace_name=Workspace; project_name=Project; is_now=Is now
-- hidden: external_id
select
  before.target,
  before.workspace_name,
  before.project_name,
  before.resources_drifted,
  case when now.external_id is null then 'gone' else 'not assessed' end as is_now,
  before.external_id,
from workspaces_before($as_of) as before
left join workspaces_at($as_of) as now
  on now.target = before.target and now.external_id = before.external_id
where before.drifted and now.drifted is null
order by is_now, before.workspace_name, before.target, before.external_id;
