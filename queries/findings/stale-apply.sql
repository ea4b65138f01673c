-- rule: The last apply of a workspace is more than `staleApplyDays` old.
-- severity: info
-- sources: workspaces
-- needs: current_run_applied_at
-- subject: workspace
-- many: workspaces{of} were not applied for `staleApplyDays`
-- repair: start a run, or ask the owner of the project whether the workspace is still needed
-- grain: one row per such workspace; unknown where no apply was seen and the workspace is that old
-- parameters: $as_of, $stale_apply_days
-- A workspace without resources has nothing to apply.
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when applied_at is null then 'no apply of it was seen'
    else format(
      'Workspace {} was last applied on {}',
      coalesce(workspace_name, external_id),
      strftime(applied_at, '%Y-%m-%d')
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'applied_at', iso_time(applied_at),
    'resources', current_rum_count
  ) as detail,
  'project ' || coalesce(project_name, project_external_id) as group_key,
  applied_at is null as unknown,
from workspaces
join workspace_use_at($as_of) using (target, external_id)
where
  current_rum_count is distinct from 0
  and coalesce(applied_at, workspace_created_at, '-infinity') <= $as_of::timestamptz - to_seconds($stale_apply_days * 86400)
