-- grain: one row per workspace with checks_unknown above 0
-- title: With checks not assessed
-- about: Checks that could not be assessed.
-- counted: failing
-- empty: Every reported check is assessed.
-- labels: workspace_name=Workspace; project_name=Project; checks_failed=Failed; checks_errored=Errored; checks_unknown=Not assessed; checks_passed=Passed; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  target,
  workspace_name,
  project_name,
  checks_unknown,
  checks_failed,
  checks_passed,
  current_run_status,
  external_id,
from workspaces_at($as_of)
where checks_unknown > 0
order by checks_unknown desc, workspace_name, target, external_id;
