-- grain: one row per tool version in use
-- title: Tool versions
-- sources: tf_versions, workspaces
-- hidden: workspaces
-- about: Newest first. "Behind" is the most significant part that is lower than in the newest release. "Workspaces" are those configured for the version; "In the list of versions" is the count of the service.
-- strips: used_by=bar
-- legend: good=newest or ahead; info=behind by a patch; warn=by a minor version; bad=by a major version; soft=not comparable
-- empty: No version is known.
-- labels: used_by=Used by; workspace_count=In the list of versions; workspaces_before=Workspaces before; behind=Behind
with
  state as (
    select max(as_of) is not null as is_known, coalesce(bool_and(previous_as_of is not null) filter (as_of is not null), false) as is_comparable,
    from source_state_at($as_of)
    where source = 'workspaces'
  ),
  newest as (select key from tool_versions_at($as_of) where ends_with(key, '~') order by key desc limit 1),
  listed as (
    select version, sum(workspace_count) as workspace_count
    from stored_versions_at('tf_versions', $as_of)
    group by version
  ),
  configured as (
    select workspace_iac_version as version, count(*) as workspaces from workspaces_at($as_of) group by all
  ),
  configured_before as (
    select workspace_iac_version as version, count(*) as workspaces from workspaces_before($as_of) group by all
  ),
  every as (
    select version from listed
    union
    select version from configured
    union
    select version from configured_before
  ),
  keyed as (select version, semver_key(version) as key, (select key from newest) as newest_key from every)
select
  keyed.version,
  case when key is null then 'not comparable' when ends_with(key, '~') then 'release' else 'prerelease' end as kind,
  case
    when key is null or newest_key is null then null
    when key = newest_key then 'newest'
    when key > newest_key then 'ahead'
    else lower_part(key, newest_key)
  end as behind,
  if(is_known, coalesce(configured.workspaces, 0), null) as workspaces,
  if(is_comparable, coalesce(configured_before.workspaces, 0), null) as workspaces_before,
  if(not is_known, [], [
    {
      'kind': case behind
        when 'newest' then 'good'
        when 'ahead' then 'good'
        when 'patch' then 'info'
        when 'minor' then 'warn'
        when 'major' then 'bad'
        else 'soft'
      end,
      'value': coalesce(configured.workspaces, 0),
      'text': format('{:,} {}', coalesce(configured.workspaces, 0), if(configured.workspaces = 1, 'workspace', 'workspaces')),
    }
  ]) as used_by,
  listed.workspace_count,
from keyed
cross join state
left join listed on listed.version is not distinct from keyed.version
left join configured on configured.version is not distinct from keyed.version
left join configured_before on configured_before.version is not distinct from keyed.version
order by key desc nulls last, keyed.version;
