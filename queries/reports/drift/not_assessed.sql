-- grain: one row per workspace whose drift is not assessed
-- title: Not assessed
-- about: It is unknown whether these drift: not assessed, or not drifting while resources are counted as drifted. "Last known" is the last assessment that a pull reported.
-- empty: Every workspace is assessed.
-- labels: workspace_name=Workspace; project_name=Project; last_known=Last known; known_until=Until; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  last_assessed as (
    select
      target,
      external_id,
      arg_max(assessed_drift, valid_from) as drifted,
      max(valid_to) as assessed_until,
    from workspace_assessments
    where assessed_drift is not null and valid_from <= $as_of::timestamptz
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  case when last_assessed.drifted then 'drifting' when not last_assessed.drifted then 'clean' else 'never assessed' end as last_known,
  last_assessed.assessed_until as known_until,
  now.current_run_status,
  now.external_id,
from workspaces_at($as_of) as now
left join last_assessed on last_assessed.target = now.target and last_assessed.external_id = now.external_id
where known_drift(now.drifted, now.resources_drifted) is null
order by (last_assessed.drifted is true) desc, now.workspace_name, now.target, now.external_id;
