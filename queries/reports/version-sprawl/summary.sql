-- grain: one row
-- title: Version sprawl
-- order: 4
-- sources: modules, providers, tf_versions, workspaces
-- about: Tool, provider and module versions in use, in semantic order; prereleases are never the newest.
with
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source in ('tf_versions', 'workspaces') and as_of is not null
  ),
  used as (
    select version, semver_key(version) as key from tf_versions_at($as_of)
    union
    select workspace_iac_version, semver_key(workspace_iac_version)
    from workspaces_at($as_of)
    where not exists (from tf_versions_at($as_of))
  ),
  used_before as (
    select version, semver_key(version) as key from tf_versions_before($as_of)
  ),
  newest as (select version, key from used where ends_with(key, '~') order by key desc, version limit 1),
  newest_before as (select version, key from used_before where ends_with(key, '~') order by key desc, version limit 1),
  held as (
    select
      workspace_iac_version as version,
      semver_key(workspace_iac_version) as key,
      (select key from newest) as newest_key,
    from workspaces_at($as_of)
  ),
  workspace_counts as (
    select
      count(*) as workspaces,
      count(*) filter (key < newest_key) as workspaces_behind,
      count(*) filter (key < newest_key and key[:18] < newest_key[:18]) as behind_major,
      count(*) filter (key < newest_key and key[:18] = newest_key[:18] and key[20:37] < newest_key[20:37]) as behind_minor,
      count(*) filter (key < newest_key and key[:37] = newest_key[:37]) as behind_patch,
      count(*) filter (not ends_with(key, '~')) as workspaces_on_prereleases,
      count(*) filter (key is null) as not_comparable,
    from held
  ),
  behind_before as (
    select count(*) as workspaces
    from workspaces_before($as_of)
    where semver_key(workspace_iac_version) < (select key from newest_before)
  ),
  provider_counts as (
    select
      count(distinct row(name, source)) as providers,
      count(distinct row(name, source, version)) as provider_versions,
    from providers_at($as_of)
  ),
  module_counts as (
    select
      count(distinct row(name, source)) as modules,
      count(distinct row(name, source, version)) as module_versions,
    from modules_at($as_of)
  ),
  spread as (
    select
      (select count(*) from (
        select name, source from providers_at($as_of) group by name, source having count(distinct version) > 1
      )) as providers_spread,
      (select count(*) from (
        select name, source from modules_at($as_of) group by name, source having count(distinct version) > 1
      )) as modules_spread,
  ),
  counted as (
    select
      (select count(distinct version) from tf_versions_at($as_of)) as versions,
      (select version from newest) as newest_version,
      (select count(distinct version) from used where not ends_with(key, '~')) as prereleases,
      workspace_counts.*,
      provider_counts.*,
      module_counts.*,
      spread.*,
      case when comparable.yes then (select count(distinct version) from used_before) end as versions_before,
      case when comparable.yes then (select version from newest_before) end as newest_version_before,
      case when comparable.yes then behind_before.workspaces end as workspaces_behind_before,
      not comparable.yes as baseline,
    from workspace_counts, provider_counts, module_counts, spread, behind_before, comparable
  )
select
  *,
  format('{} of {} workspaces behind {}', workspaces_behind, workspaces, coalesce(newest_version, 'a version nobody knows'))
  || format('; {} tool versions in use', versions) as headline,
from counted;
