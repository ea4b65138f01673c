-- grain: one row per workspace with checks_errored above 0
-- title: With errored checks
-- about: A check that ended with an error has no result.
-- counted: failing
-- empty: No check is known to have ended with an error.
-- labels: workspace_name=Workspace; project_name=Project; checks_failed=Failed; checks_errored=Errored; checks_unknown=Not assessed; checks_passed=Passed; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  target,
  workspace_name,
  project_name,
  checks_errored,
  checks_failed,
  checks_passed,
  current_run_status,
  external_id,
from workspaces_at($as_of)
where checks_errored > 0
order by checks_errored desc, workspace_name, target, external_id;
