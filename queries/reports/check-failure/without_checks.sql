-- grain: one row per workspace without any check
-- title: Without checks
-- about: All four counts are 0.
-- counted: failing
-- empty: No workspace is known to be without checks.
-- labels: workspace_name=Workspace; project_name=Project; current_rum_count=Resources; workspace_created_at=Created; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  target,
  workspace_name,
  project_name,
  current_rum_count,
  workspace_created_at,
  current_run_status,
  external_id,
from workspaces_at($as_of)
where checks_failed = 0 and checks_errored = 0 and checks_unknown = 0 and checks_passed = 0
order by current_rum_count desc nulls last, workspace_name, target, external_id;
