-- rule: A workspace has resources that nobody looks after: not applied for `staleApplyDays`, and drifting for `idleDriftDays`.
-- severity: warning
-- sources: workspaces
-- needs: current_rum_count, current_run_applied_at, drifted
-- subject: workspace
-- many: workspaces{of} have resources that nobody looks after
-- repair: ask the owner of the project whether the resources are still needed
-- grain: one row per such workspace; unknown where resources, drift or the last apply are not reported
-- parameters: $as_of, $stale_apply_days, $idle_drift_days
-- Where one of the three is known to be otherwise, the other two do not matter.
with
  judged as (
    select
      workspaces.*,
      applied_at,
      drifts_since,
      current_rum_count > 0 as has_resources,
      case
        when applied_at is not null then applied_at <= $as_of::timestamptz - to_seconds($stale_apply_days * 86400)
        when workspace_created_at > $as_of::timestamptz - to_seconds($stale_apply_days * 86400) then false
      end as is_stale,
      case
        when not known_drift(drifted, resources_drifted) then false
        when drifts_since is not null then drifts_since <= $as_of::timestamptz - to_seconds($idle_drift_days * 86400)
      end as drifts_long,
    from workspaces
    join workspace_use_at($as_of) using (target, external_id)
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when has_resources and is_stale and drifts_long then format(
      'Workspace {} has {}, was last applied on {}, and drifts since {}',
      coalesce(workspace_name, external_id),
      case when current_rum_count = 1 then '1 resource' else format('{:,} resources', current_rum_count) end,
      strftime(applied_at, '%Y-%m-%d'),
      strftime(drifts_since, '%Y-%m-%d')
    )
    when has_resources is null then 'the number of its resources is not reported'
    when is_stale is null then 'no apply of it was seen'
    else 'its drift is not assessed'
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'resources', current_rum_count,
    'applied_at', iso_time(applied_at),
    'drifts_since', iso_time(drifts_since)
  ) as detail,
  'project ' || coalesce(project_name, project_external_id) as group_key,
  (has_resources and is_stale and drifts_long) is null as unknown,
from judged
where (has_resources and is_stale and drifts_long) is not false
