-- grain: one row per workspace that drifts now and did not at the previous complete pull
-- title: New
-- about: Drifting now, not drifting at the previous complete pull of the same target.
-- empty: No workspace started to drift.
-- labels: workspace_name=Workspace; project_name=Project; was=Was; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  state as (select target from source_state_at($as_of) where source = 'workspaces' and previous_as_of is not null)
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.resources_drifted,
  case
    when before.external_id is null then 'absent'
    when before.drifted is null then 'not assessed'
    else 'clean'
  end as was,
  now.current_run_status,
  now.external_id,
from workspaces_at($as_of) as now
join state using (target)
left join workspaces_before($as_of) as before
  on before.target = now.target and before.external_id = now.external_id
where now.drifted and before.drifted is distinct from true
order by now.resources_drifted desc nulls last, now.workspace_name, now.target, now.external_id;
