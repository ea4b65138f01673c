-- grain: one row per workspace that was resolved since the previous complete pull
-- title: Resolved
-- about: Drifting when last assessed before, assessed and clean now.
-- empty: No drift was resolved.
-- labels: workspace_name=Workspace; project_name=Project; drifted_since=Drifted since; lasted_days=Lasted (days); resources_drifted=Resources that drifted
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  state as (select target, as_of from source_state_at($as_of) where source = 'workspaces')
select
  now.target,
  now.workspace_name,
  now.project_name,
  if(known_drift(before.drifted, before.resources_drifted) is null, null, before.resources_drifted) as resources_drifted,
  episodes.drifting_since as drifted_since,
  date_diff('hour', episodes.drifting_since, state.as_of) // 24 as lasted_days,
  now.external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
join state using (target)
left join workspaces_before($as_of) as before using (target, external_id)
left join workspace_episodes($as_of) as episodes using (target, external_id)
where changes.drift_change = 'resolved'
order by lasted_days desc, now.workspace_name, now.target, now.external_id;
