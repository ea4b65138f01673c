-- grain: one row per workspace that fails now and did not before
-- title: New and returned
-- about: Failing now, not at the previous complete pull of the same target. "Returned": it failed earlier, and that was resolved.
-- empty: No workspace started to fail.
-- labels: workspace_name=Workspace; project_name=Project; change=Change; was=Was; checks_failed=Failed; checks_errored=Errored; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.checks_failed,
  now.checks_errored,
  changes.failing_change as change,
  case
    when not changes.was_present then 'absent'
    when before.checks_failed is null then 'not reported'
    when changes.was_failing is null then 'not assessed'
    else 'not failing'
  end as was,
  now.current_run_status,
  now.external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
left join workspaces_before($as_of) as before using (target, external_id)
where changes.failing_change in ('new', 'returned')
order by now.checks_failed desc, now.workspace_name, now.target, now.external_id;
