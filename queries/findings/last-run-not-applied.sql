-- rule: The current run of a workspace errored, or was discarded or canceled, `notAppliedDays` ago or earlier.
-- severity: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces{of} have a last run that was not applied for `notAppliedDays`
-- repair: open the run: repair its error and start another, or confirm that nothing is to be applied
-- grain: one row per such workspace; unknown where the status of its run is not reported or not known, or its ID is not reported
-- parameters: $as_of, $not_applied_days
-- The time is that of the first pull that saw this status of this run.
with
  first_seen as (
    select target, external_id, current_run_external_id, current_run_status, min(valid_from) as seen_at
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
    when ended_unapplied(current_run_status) is null then format('the status of its run is {}, which is not known', current_run_status)
    else format(
      'The last run of workspace {} {} on {} or before, and nothing was applied since',
      coalesce(workspace_name, external_id),
      case
        when current_run_status = 'errored' then 'errored'
        else 'was ' || replace(current_run_status, '_', ' ')
      end,
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
  ended_unapplied(current_run_status) is null or current_run_external_id is null as unknown,
from workspaces
left join first_seen using (target, external_id, current_run_external_id, current_run_status)
where
  (ended_unapplied(current_run_status) is null and current_run_external_id is not null)
  or (
    ended_unapplied(current_run_status)
    and (seen_at <= $as_of::timestamptz - to_seconds($not_applied_days * 86400) or current_run_external_id is null)
  )
