-- title: Workspaces that were updated last
-- description: By the time that the platform reports, the latest first.
-- param: since timestamp = now() - interval 7 days - only workspaces that were updated later
select target, project_name, workspace_name, workspace_updated_at, current_run_status, current_run_applied_at
from workspaces
where workspace_updated_at >= $since::timestamptz
order by workspace_updated_at desc, target, workspace_name;
