-- rule: A workspace's resources differ from its configuration.
-- severity: warning
-- sources: workspaces
-- needs: drifted
-- subject: workspace
-- many: workspaces drift
-- repair: start a run that applies the configuration, or import what was changed by hand
-- repaired_by: hand
-- grain: one row per drifted workspace; unknown where `known_drift` is
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when drifted is null then 'drift is not assessed'
    when not drifted then 'it does not drift, and counts drifted resources'
    else format('Workspace {} drifts{}', coalesce(workspace_name, external_id), case
      when resources_drifted = 1 then ' in 1 resource'
      when resources_drifted > 1 then format(' in {} resources', resources_drifted)
      else ''
    end)
  end as title,
  json_object(
    'workspace_id', external_id,
    'workspace_name', workspace_name,
    'project_id', project_external_id,
    'project_name', project_name,
    'resources_drifted', resources_drifted,
    'resources_undrifted', resources_undrifted,
    'current_run_status', current_run_status
  ) as detail,
  resources_drifted as weight,
  known_drift(drifted, resources_drifted) is null as unknown,
from workspaces
where known_drift(drifted, resources_drifted) is not false
