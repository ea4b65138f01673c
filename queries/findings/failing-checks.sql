-- rule: Checks of a workspace completed and failed.
-- severity: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces fail their checks
-- repair: open the last assessment and repair what the check names; ask the owner of the project
-- grain: one row per such workspace; unknown where the count is not reported
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when checks_failed is null then 'the number of failed checks is not reported'
    else format(
      '{} of workspace {} failed',
      case when checks_failed = 1 then '1 check' else checks_failed || ' checks' end,
      coalesce(workspace_name, external_id)
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'checks_failed', checks_failed,
    'checks_errored', checks_errored,
    'checks_passed', checks_passed,
    'checks_unknown', checks_unknown
  ) as detail,
  checks_failed as weight,
  checks_failed is null as unknown,
from workspaces
where checks_failed > 0 or checks_failed is null
