-- rule: A workspace is set to a lower version of the tool than the newest release in use.
-- severity: info
-- worst: warning
-- sources: workspaces, tf_versions
-- subject: workspace
-- many: workspaces{of} are older than the newest release in use
-- repair: raise the version in the workspace, after a plan with it
-- grain: one row per such workspace; a warning where it is a major version behind; unknown where its version cannot be compared
-- The newest version is the highest release of the target's `tf_versions` by semantic precedence, never a prerelease.
with
  ranked as (
    select target, version, semver_key(version) as rank
    from tf_versions
  ),
  newest as (
    select target, arg_max(version, rank) as version, max(rank) as rank
    from ranked
    where ends_with(rank, '~')
    group by target
  ),
  versions as (
    select version, semver_key(version) as rank
    from (select distinct workspace_iac_version as version from workspaces)
  ),
  compared as (
    select
      workspaces.*,
      newest.version as newest_version,
      case
        when versions.rank is null or newest.rank is null then null
        when versions.rank >= newest.rank then 'none'
        when split_part(versions.rank, '.', 1) <> split_part(newest.rank, '.', 1) then 'major'
        when split_part(versions.rank, '.', 2) <> split_part(newest.rank, '.', 2) then 'minor'
        else 'patch'
      end as behind,
    from workspaces
    left join versions on versions.version = workspaces.workspace_iac_version
    left join newest on newest.target = workspaces.target
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when behind is null then 'its version cannot be compared'
    else format(
      'Workspace {} is set to version {}, a {} version behind {}',
      coalesce(workspace_name, external_id),
      workspace_iac_version,
      behind,
      newest_version
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_name', project_name,
    'version', workspace_iac_version,
    'newest_version', newest_version,
    'behind', behind
  ) as detail,
  case when behind = 'major' then 'warning' else 'info' end as severity,
  'version ' || workspace_iac_version as group_key,
  behind is null as unknown,
from compared
where behind is distinct from 'none'
