-- grain: one row per workspace of which checks `failed` or `errored` (outcome), as a rule returns it; unknown where `known_failing` is
-- {{scope}} as for semver_key.
create or replace {{scope}}macro checks_found(outcome) as table
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when found is null then format('the number of {} checks is not reported', outcome)
    when found <= 0 then 'some of its checks could not be assessed'
    else format(
      '{} of workspace {} {}',
      case when found = 1 then '1 check' else found || ' checks' end,
      coalesce(workspace_name, external_id),
      outcome
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
  found as weight,
  known_failing(found, checks_unknown) is null as unknown,
from (select *, if(outcome = 'failed', checks_failed, checks_errored) as found from workspaces)
where known_failing(found, checks_unknown) is not false;
