-- grain: one row per workspace that fails now and did not at the previous complete pull
-- title: New
-- about: Failing now, not failing at the previous complete pull of the same target.
-- empty: No workspace started to fail.
-- labels: workspace_name=Workspace; project_name=Project; was=Was; checks_failed=Failed; checks_errored=Errored; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  state as (select target from source_state_at($as_of) where source = 'workspaces' and previous_as_of is not null)
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.checks_failed,
  now.checks_errored,
  case
    when before.external_id is null then 'absent'
    when before.checks_failed is null then 'not reported'
    else 'not failing'
  end as was,
  now.current_run_status,
  now.external_id,
from workspaces_at($as_of) as now
join state using (target)
left join workspaces_before($as_of) as before
  on before.target = now.target and before.external_id = now.external_id
where now.checks_failed > 0 and (before.checks_failed > 0) is distinct from true
order by now.checks_failed desc, now.workspace_name, now.target, now.external_id;
