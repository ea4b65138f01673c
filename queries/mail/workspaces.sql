-- grain: one row per workspace of mail_routes, present or deleted since: its current and its previous values
-- parameters: $as_of; $since: null for the first digest
create or replace temp table mail_workspaces as
with
  compared as (
    select
      coalesce(now.target, before.target) as target,
      coalesce(now.external_id, before.external_id) as workspace_id,
      coalesce(now.workspace_name, before.workspace_name) as workspace_name,
      coalesce(now.project_name, before.project_name) as project_name,
      coalesce(now.project_external_id, before.project_external_id) as project_id,
      now.external_id is not null as present,
      known_drift(now.drifted, now.resources_drifted) as drifted,
      now.checks_failed,
      now.workspace_iac_version as version,
      before.external_id is not null as was_present,
      coalesce(changes.comparable, false) as comparable,
      changes.is_drifting,
      changes.was_drifting,
      changes.drift_change,
      changes.is_failing,
      changes.was_failing,
      changes.failing_change,
      known_drift(before.drifted, before.resources_drifted) as was_drifted,
      before.checks_failed as failed_before,
      before.workspace_iac_version as version_before,
    from workspaces_at($as_of) as now
    full join (from workspaces_at($since) where target not in (from left_out_targets('workspaces', $as_of))) as before
      on before.target = now.target and before.external_id = now.external_id
    left join workspace_changes($as_of, coalesce($since::timestamptz, '-infinity'::timestamptz)) as changes
      on changes.target = coalesce(now.target, before.target) and changes.external_id = coalesce(now.external_id, before.external_id)
  )
select *
from compared
where exists (
  from mail_routes as routes
  where
    routes.target = compared.target
    and (routes.project is null or compared.project_name glob routes.project or compared.project_id glob routes.project)
);
