-- grain: one row per workspace whose tool version is no semantic version
-- title: Not comparable
-- sources: workspaces
-- about: Without a version, or with a text such as a constraint: nobody can tell whether these are behind.
-- empty: Every workspace has a semantic version.
-- labels: workspace_name=Workspace; project_name=Project; workspace_iac_version=Version
-- hidden: external_id
with
  judged as (
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
semi join judged on judged.version is not distinct from now.workspace_iac_version
order by workspace_iac_version nulls first, workspace_name, target, external_id;
