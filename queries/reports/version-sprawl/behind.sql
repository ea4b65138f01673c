-- grain: one row per workspace whose tool version is lower than the newest release in use
-- title: Workspaces behind
-- sources: tf_versions, workspaces
-- about: Compared with the newest release in use, which says nothing of its support. Most outdated first. "By" is the number of versions behind. "Since" is the pull that first reported this version.
-- counted: workspaces_behind
-- empty: No workspace is known to be behind the newest release in use.
-- labels: workspace_name=Workspace; project_name=Project; workspace_iac_version=Version; behind=Behind; by=By; since=Since; state_version_iac_version=State written by
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  newest as (select version, key as newest_key from tool_versions_at($as_of) where ends_with(key, '~') order by key desc, version limit 1),
  -- computes the key once per version, not once per workspace
  lower_versions as (
    select held.version, held.key, newest.newest_key
    from (
      select version, semver_key(version) as key
      from (select distinct workspace_iac_version as version from workspaces_at($as_of))
    ) as held
    join newest on held.key < newest.newest_key
  ),
  behind as (
    select now.*, lower_versions.key, lower_versions.newest_key
    from workspaces_at($as_of) as now
    join lower_versions on lower_versions.version = now.workspace_iac_version
  ),
  moved as (
    select
      target,
      external_id,
      valid_from,
      workspace_iac_version is distinct from
        lag(workspace_iac_version) over (partition by target, external_id order by valid_from) as changed,
    from workspaces_history
    where valid_from <= $as_of::timestamptz
  ),
  settled as (
    select target, external_id, max(valid_from) filter (changed) as since, min(valid_from) as first_seen
    from moved
    group by target, external_id
  )
select
  behind.target,
  behind.workspace_name,
  behind.project_name,
  behind.workspace_iac_version,
  lower_part(key, newest_key) as behind,
  case
    when key[:18] < newest_key[:18] then newest_key[:18]::bigint - key[:18]::bigint
    when key[:37] < newest_key[:37] then newest_key[20:37]::bigint - key[20:37]::bigint
    when key[:56] < newest_key[:56] then newest_key[39:56]::bigint - key[39:56]::bigint
  end as "by",
  coalesce(settled.since, settled.first_seen) as since,
  behind.state_version_iac_version,
  behind.external_id,
from behind
left join settled on settled.target = behind.target and settled.external_id = behind.external_id
order by key, behind.workspace_name, behind.target, behind.external_id;
