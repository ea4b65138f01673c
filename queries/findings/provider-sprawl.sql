-- rule: A provider is in use in more than one version, and a workspace uses an older one than the newest.
-- severity: info
-- sources: providers
-- subject: workspace
-- many: uses of a provider are older than its newest version
-- repair: raise the provider version in the configuration; ask the owner of the project
-- grain: one row per workspace and provider (name and source) that it uses in an older version; grouped by the oldest of them
-- The newest version is the highest release in use by semantic precedence, or the highest prerelease where there is no release.
-- A higher prerelease is not older; a version that is not semantic is.
with
  ranked as (
    select *, case when ends_with(rank, '~') then '1' || rank else '0' || rank end as sort_key
    from (select *, coalesce(semver_key(version), '') as rank from providers where version is not null)
  ),
  compared as (
    select
      *,
      arg_max(version, sort_key) over same as newest_version,
      substr(max(sort_key) over same, 2) as newest_rank,
      count(*) over same as versions_in_use,
    from ranked
    window same as (partition by target, name, source)
  ),
  -- names may contain commas: split at comma and space, or at every comma where only that gives the number of workspaces
  used as (
    select
      *,
      unnest(
        if(
          len(string_split(workspaces, ', ')) <> workspace_count and len(string_split(workspaces, ',')) = workspace_count,
          string_split(workspaces, ','),
          string_split(workspaces, ', ')
        )
      ) as workspace_name,
    from compared
    where rank < newest_rank
  ),
  behind as (
    select
      target,
      workspace_name,
      name,
      source,
      any_value(newest_version) as newest_version,
      any_value(versions_in_use) as versions_in_use,
      list(version order by rank, version) as versions,
    from used
    where workspace_name <> ''
    group by target, workspace_name, name, source
  )
select
  target,
  concat_ws(' ', workspace_name, name, source) as subject_id,
  workspace_name as subject_name,
  format(
    'Workspace {} uses provider {} {}; the newest in use is {}',
    workspace_name,
    coalesce(name, source, '?'),
    array_to_string(versions, ', '),
    newest_version
  ) as title,
  json_object(
    'workspace_name', workspace_name,
    'name', name,
    'source', source,
    'versions', versions,
    'newest_version', newest_version,
    'versions_in_use', versions_in_use
  ) as detail,
  concat_ws(' ', name, '(' || source || ')', versions[1]) as group_key,
from behind
