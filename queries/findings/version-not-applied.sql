-- rule: The state of a workspace was written by another version of the tool than the one that the workspace is set to.
-- severity: info
-- sources: workspaces
-- subject: workspace
-- many: workspaces have a state of another version than theirs
-- repair: start a run, which writes the state with the version of the workspace
-- grain: one row per such workspace; unknown where a version is a constraint, or the workspace's is not reported
-- A workspace without a state has nothing to apply.
with
  compared as (
    select
      *,
      semver_key(state_version_iac_version) as state_key,
      semver_key(workspace_iac_version) as workspace_key,
    from workspaces
    where state_version_iac_version is not null
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when workspace_iac_version is null then 'the version that it is set to is not reported'
    when state_key is null or workspace_key is null then 'its versions cannot be compared'
    else format(
      'Workspace {} is set to version {}, and its state was written by {}',
      coalesce(workspace_name, external_id),
      workspace_iac_version,
      state_version_iac_version
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'version', workspace_iac_version,
    'state_version', state_version_iac_version
  ) as detail,
  format('version {}, state {}', workspace_iac_version, state_version_iac_version) as group_key,
  state_key is null or workspace_key is null as unknown,
from compared
where
  state_key is null
  or workspace_key is null
  or state_key <> workspace_key
