-- grain: one row per workspace whose tool version is not a semantic version
-- title: Not comparable
-- sources: workspaces
-- about: These have no version, or a text such as a constraint, so it is unknown whether they are behind.
-- empty: Every workspace has a semantic version.
-- labels: workspace_name=Workspace; project_name=Project; workspace_iac_version=Version
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  selected as (
    select version
    from (select distinct workspace_iac_version as version from workspaces_at($as_of))
    where semver_key(version) is null
  )
select
  target,
  workspace_name,
  project_name,
  workspace_iac_version,
  external_id,
from workspaces_at($as_of) as now
semi join selected on selected.version is not distinct from now.workspace_iac_version
order by workspace_iac_version nulls first, workspace_name, target, external_id;
