-- grain: one row per workspace that drifts
-- title: Drifting
-- about: "Since" is the pull that first reported the drift. A run without an assessment does not reset it. "Times before" counts earlier drifts that were resolved.
-- empty: No workspace is known to drift.
-- labels: workspace_name=Workspace; project_name=Project; since=Since; current_run_status=Last run; resources_drifted=Resources
-- subjects: workspace_name=workspace:external_id; project_name=project:project_external_id
-- hidden: external_id, project_external_id, days
select
  now.target,
  now.workspace_name,
  now.project_name,
  if(known_drift(now.drifted, now.resources_drifted) is null, null, now.resources_drifted) as resources_drifted,
  episodes.drifting_since as since,
  date_diff('hour', since, $as_of::timestamptz) // 24 as days,
  episodes.drifts_before as times_before,
  now.current_run_status,
  case
    when known_drift(now.drifted, now.resources_drifted) is null then 'not assessed now'
    when ended_unapplied(now.current_run_status)
      then 'last run ' || now.current_run_status || ': the assessment may be outdated'
  end as note,
  now.external_id,
  now.project_external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
left join workspace_episodes($as_of) as episodes using (target, external_id)
where changes.is_drifting
order by since, resources_drifted desc nulls last, now.workspace_name, now.target, now.external_id;
