-- grain: one row per workspace whose resources nobody seems to look after, or that has none; the one with most resources first
-- title: Idle
-- about: Not applied for long, drifting for long, or without resources. Where an apply or the drift was never seen, that is no reason.
-- counted: resources
-- empty: No workspace is idle.
-- labels: workspace_name=Workspace; project_name=Project; current_rum_count=Resources; applied_at=Last apply; drifts_since=Drifts since; why=Why
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  judged as (
    select
      now.*,
      applied_at,
      if(not known_drift(drifted, resources_drifted), null, drifts_since) as drifts_since,
      list_filter(
        [
          if(current_rum_count = 0, 'no resources', null),
          if(
            applied_at <= $as_of::timestamptz - to_seconds($stale_apply_days * 86400),
            format('not applied for {} days', floor($stale_apply_days)::bigint),
            null
          ),
          if(
            known_drift(drifted, resources_drifted) is not false and drifts_since <= $as_of::timestamptz - to_seconds($idle_drift_days * 86400),
            format('drifting for {} days', floor($idle_drift_days)::bigint),
            null
          )
        ],
        lambda reason: reason is not null
      ) as reasons,
    from workspaces_at($as_of) as now
    join workspace_use_at($as_of) using (target, external_id)
  )
select
  target,
  workspace_name,
  project_name,
  current_rum_count,
  applied_at,
  drifts_since,
  array_to_string(reasons, ', ') as why,
  external_id,
from judged
where len(reasons) > 0
order by current_rum_count desc nulls last, workspace_name, target, external_id;
