-- grain: one row per workspace on a prerelease
-- title: On prereleases
-- sources: workspaces
-- counted: workspaces_on_prereleases
-- empty: No workspace is known to be on a prerelease.
-- labels: workspace_name=Workspace; project_name=Project; workspace_iac_version=Version; state_version_iac_version=State written by
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  selected as (
    select version
    from (select distinct workspace_iac_version as version from workspaces_at($as_of))
    where not ends_with(semver_key(version), '~')
  )
select
  target,
  workspace_name,
  project_name,
  workspace_iac_version,
  state_version_iac_version,
  external_id,
from workspaces_at($as_of) as now
semi join selected on selected.version is not distinct from now.workspace_iac_version
order by semver_key(workspace_iac_version), workspace_name, target, external_id;
