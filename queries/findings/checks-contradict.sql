-- rule: The service says that all checks of a workspace succeeded, and its counts say otherwise, or the other way round.
-- severity: info
-- sources: workspaces
-- subject: workspace
-- many: workspaces have checks whose result and counts contradict each other
-- repair: open the last assessment; ask the owner of the project
-- grain: one row per such workspace; unknown where the answer or a count is not reported
with
  counted as (
    select
      *,
      checks_errored + checks_failed + checks_unknown as not_succeeded,
      checks_errored + checks_failed + checks_unknown + checks_passed as checks,
    from workspaces
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when all_checks_succeeded is null or checks is null then 'not all of its checks are reported'
    when all_checks_succeeded then format(
      'All checks of workspace {} are said to have succeeded, and {} did not',
      coalesce(workspace_name, external_id),
      not_succeeded
    )
    else format(
      'Not all checks of workspace {} are said to have succeeded, and all {} passed',
      coalesce(workspace_name, external_id),
      checks_passed
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'all_checks_succeeded', all_checks_succeeded,
    'checks_errored', checks_errored,
    'checks_failed', checks_failed,
    'checks_passed', checks_passed,
    'checks_unknown', checks_unknown
  ) as detail,
  all_checks_succeeded is null or checks is null as unknown,
from counted
where
  all_checks_succeeded is null
  or checks is null
  or (all_checks_succeeded and not_succeeded > 0)
  or (not all_checks_succeeded and not_succeeded = 0 and checks > 0)
