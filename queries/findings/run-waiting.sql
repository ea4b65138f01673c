-- rule: The current run of a workspace has waited for `waitingRunDays`, and is not final.
-- severity: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces{of} have a run that has waited for `waitingRunDays`
-- repair: confirm or discard the run; ask the owner of the project
-- grain: one row per such workspace; unknown where the status or the ID of its run is not reported
-- parameters: $as_of, $waiting_run_days
-- A run waits for a person or for an agent. A status that is not known here counts as waiting: a final one changes no more.
with
  first_seen as (
    select target, external_id, current_run_external_id, min(valid_from) as seen_at
    from workspaces_history
    group by all
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when current_run_status is null then 'the status of its run is not reported'
    when current_run_external_id is null then 'the ID of its run is not reported'
    else format(
      'Run {} of workspace {} is {}, and was first seen on {}',
      current_run_external_id,
      coalesce(workspace_name, external_id),
      replace(current_run_status, '_', ' '),
      strftime(seen_at, '%Y-%m-%d')
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'run_id', current_run_external_id,
    'status', current_run_status,
    'seen_at', iso_time(seen_at)
  ) as detail,
  'status ' || replace(current_run_status, '_', ' ') as group_key,
  current_run_status is null or current_run_external_id is null as unknown,
from workspaces
left join first_seen using (target, external_id, current_run_external_id)
where
  (current_run_status is null and current_run_external_id is not null)
  or (
    current_run_status not in ('applied', 'planned_and_finished', 'planned_and_saved')
    and ended_unapplied(current_run_status) is not true
    and (seen_at <= $as_of::timestamptz - to_seconds($waiting_run_days * 86400) or current_run_external_id is null)
  )
