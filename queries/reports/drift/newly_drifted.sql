-- grain: one row per workspace that drifts now and did not before
-- title: New and returned
-- about: Drifting now, not at the previous complete pull of the same target. "Returned": it drifted earlier, and that was resolved.
-- empty: No workspace started to drift.
-- labels: workspace_name=Workspace; project_name=Project; change=Change; was=Was; current_run_status=Last run; resources_drifted=Resources
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.resources_drifted,
  changes.drift_change as change,
  case
    when not changes.was_present then 'absent'
    when known_drift(before.drifted, before.resources_drifted) is null then 'not assessed'
    else 'clean'
  end as was,
  now.current_run_status,
  now.external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
left join workspaces_before($as_of) as before using (target, external_id)
where changes.drift_change in ('new', 'returned')
order by now.resources_drifted desc nulls last, now.workspace_name, now.target, now.external_id;
