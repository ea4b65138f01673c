-- title: Workspaces that nobody applied for a long time
-- description: Candidates for deletion: the last apply is older than the given days, or none was seen and the workspace is that old.
-- param: days integer = 365 - days without an apply
select
  target,
  project_name,
  workspace_name,
  applied_at as current_run_applied_at, -- the current run may not be an apply
  workspace_created_at,
  current_rum_count as resources,
  date_diff('day', coalesce(applied_at, workspace_created_at), (select max(as_of) from pulls)) as idle_days
from workspaces
join workspace_use_at((select max(as_of) from pulls)) using (target, external_id)
where coalesce(applied_at, workspace_created_at) < (select max(as_of) from pulls) - to_days($days::integer)
order by idle_days desc, target, workspace_name;
