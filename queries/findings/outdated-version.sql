-- rule: A workspace is set to a lower version of its tool than the recommended one; or, without a policy, than the newest release that is known or in use.
-- severity: info
-- worst: warning
-- sources: workspaces, tf_versions
-- subject: workspace
-- many: workspaces{of} are outdated
-- repair: raise the version in the workspace, after a plan with it
-- grain: one row per such workspace; a warning where it is a major version behind; unknown where its version cannot be compared
-- A policy for the tool decides alone. Without one, the newest version is the highest release of the facts about its support; without these,
-- that of the target's `tf_versions`. It is never a prerelease.
with
  newest as (
    select target, arg_max(version, semver_key(version)) as version
    from stored_versions_at('tf_versions', $as_of)
    where ends_with(semver_key(version), '~')
    group by target
  ),
  released as (
    select product, arg_max(latest, semver_key(latest)) as version
    from lifecycle_at($as_of)
    where ends_with(semver_key(latest), '~')
    group by product
  ),
  versions as (
    select
      in_use.target,
      in_use.version,
      semver_key(in_use.version) as rank,
      case when verdict = 'not covered' then coalesce(released.version, newest.version) else recommended end as newest_version,
      if(verdict = 'unknown', null, semver_key(newest_version)) as newest_rank,
      case
        when verdict <> 'not covered' then ', which is recommended'
        when released.version is not null then ', the newest release'
        else ''
      end as why,
      -- a policy without a recommended version permits what it does not name, and other rules find what it denies
      verdict not in ('not covered', 'below recommended', 'unknown') as is_judged,
    from versions_in_use as in_use
    left join newest on newest.target = in_use.target
    left join released on released.product = in_use.name
    where kind = 'tool'
  ),
  compared as (
    select
      workspaces.*,
      versions.newest_version,
      versions.why,
      case
        when versions.is_judged then 'none'
        when versions.rank is null or newest_rank is null then null
        when versions.rank >= newest_rank then 'none'
        when split_part(versions.rank, '.', 1) <> split_part(newest_rank, '.', 1) then 'major'
        when split_part(versions.rank, '.', 2) <> split_part(newest_rank, '.', 2) then 'minor'
        else 'patch'
      end as behind,
    from workspaces
    left join versions
      on versions.target = workspaces.target
      and versions.version is not distinct from workspaces.workspace_iac_version
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when behind is null then 'its version cannot be compared'
    else format(
      'Workspace {} is set to version {}, a {} version behind {}{}',
      coalesce(workspace_name, external_id),
      workspace_iac_version,
      behind,
      newest_version,
      why
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
