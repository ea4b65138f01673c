-- rule: Checks of a workspace errored without completing.
-- severity: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces have checks that errored
-- repair: open the last assessment: the check itself is broken; ask the owner of the project
-- grain: one row per such workspace; unknown where the count is not reported
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when checks_errored is null then 'the number of errored checks is not reported'
    else format(
      '{} of workspace {} errored',
      case when checks_errored = 1 then '1 check' else checks_errored || ' checks' end,
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
  checks_errored as weight,
  checks_errored is null as unknown,
from workspaces
where checks_errored > 0 or checks_errored is null
