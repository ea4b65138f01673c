-- grain: one row
-- title: Version sprawl
-- order: 4
-- rules: below-minimum-version, below-minimum-provider, below-minimum-module, below-minimum-product, end-of-life-version, product-end-of-life, withdrawn-provider-version, deprecated-module, outdated-version, provider-sprawl, module-sprawl
-- unknown: not_comparable
-- sources: lifecycle, modules, providers, registry_releases, servers, tf_versions, workspaces
-- about: Versions in use, in semantic order, with what the policy and the facts about their support say. A version counts once, however many targets use it. Prereleases are never the newest.
with
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source in ('tf_versions', 'workspaces') and as_of is not null
  ),
  used as (from tool_versions_at($as_of)),
  used_before as (
    select distinct stored.version, semver_key(stored.version) as key
    from tf_versions_rows as stored
    join source_state_at($as_of) as state on state.target = stored.target and state.source = 'tf_versions'
    where
      stored.valid_from <= state.previous_as_of
      and (stored.valid_to is null or stored.valid_to > state.previous_as_of)
  ),
  providers_used as (from stored_versions_at('providers', $as_of)),
  modules_used as (from stored_versions_at('modules', $as_of)),
  newest as (select version, key from used where ends_with(key, '~') order by key desc, version limit 1),
  newest_before as (select version, key from used_before where ends_with(key, '~') order by key desc, version limit 1),
  -- computes the key once per version, not once per workspace
  held as (
    select
      semver_key(version) as key,
      (select key from newest) as newest_key,
      workspaces,
    from (select workspace_iac_version as version, count(*) as workspaces from workspaces_at($as_of) group by all)
  ),
  workspace_counts as (
    select
      coalesce(sum(workspaces), 0) as workspaces,
      coalesce(sum(workspaces) filter (key < newest_key), 0) as workspaces_behind,
      coalesce(sum(workspaces) filter (key[:18] < newest_key[:18]), 0) as behind_major,
      coalesce(sum(workspaces) filter (key[:18] = newest_key[:18] and key[20:37] < newest_key[20:37]), 0) as behind_minor,
      coalesce(sum(workspaces) filter (key[:37] = newest_key[:37] and key < newest_key), 0) as behind_patch,
      coalesce(sum(workspaces) filter (not ends_with(key, '~')), 0) as workspaces_on_prereleases,
      coalesce(sum(workspaces) filter (key is null), 0) as not_comparable,
    from held
  ),
  held_before as (
    select workspace_iac_version as version, count(*) as workspaces from workspaces_before($as_of) group by all
  ),
  behind_before as (
    select coalesce(sum(workspaces), 0) as workspaces
    from held_before
    where semver_key(version) < (select key from newest_before)
  ),
  provider_counts as (
    select
      count(distinct row(name, source)) as providers,
      count(distinct row(name, source, version)) as provider_versions,
      (select count(*) from (
        select name, source from providers_used group by name, source having count(distinct version) > 1
      )) as providers_spread,
      exists (from source_state_at($as_of) where source = 'providers' and as_of is not null) as providers_known,
    from providers_used
  ),
  module_counts as (
    select
      count(distinct row(name, source)) as modules,
      count(distinct row(name, source, version)) as module_versions,
      (select count(*) from (
        select name, source from modules_used group by name, source having count(distinct version) > 1
      )) as modules_spread,
      exists (from source_state_at($as_of) where source = 'modules' and as_of is not null) as modules_known,
    from modules_used
  ),
  in_use as (
    select
      count(distinct row(kind, name, version)) filter (verdict = 'denied') as denied,
      count(distinct row(kind, name, version)) filter (verdict = 'below minimum') as below_minimum,
      count(distinct row(kind, name, version)) filter (verdict = 'unknown') as not_judged,
      count(distinct row(kind, name, version)) filter (support_ended) as ended,
      count(distinct row(kind, name, version)) filter (
        not support_ended and support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400)
      ) as ends_soon,
      count(distinct row(kind, name, version)) filter (facts_as_of is not null and support_ended is null) as support_unknown,
      count(distinct row(kind, name, version)) filter (withdrawn) as withdrawn,
      count(distinct row(kind, name, version)) filter (deprecated) as deprecated,
      count(distinct row(kind, name)) filter (verdict = 'not covered') as not_covered,
      coalesce(bool_or(verdict <> 'not covered' or facts_as_of is not null or withdrawn or deprecated), false) as is_judged,
    from versions_in_use_at($as_of)
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  version_counts as (
    select
      (select count(distinct version) from stored_versions_at('tf_versions', $as_of)) as versions,
      (select version from newest) as newest_version,
      (select count(distinct version) from used where not ends_with(key, '~')) as prereleases,
      (select count(distinct version) from used_before) as versions_before,
      (select version from newest_before) as newest_version_before,
  ),
  counted as (
    select
      version_counts.versions,
      version_counts.newest_version,
      version_counts.prereleases,
      workspace_counts.*,
      if(providers_known, providers, null) as providers,
      if(providers_known, provider_versions, null) as provider_versions,
      if(modules_known, modules, null) as modules,
      if(modules_known, module_versions, null) as module_versions,
      if(providers_known, providers_spread, null) as providers_spread,
      if(modules_known, modules_spread, null) as modules_spread,
      case when comparable.yes then version_counts.versions_before end as versions_before,
      case when comparable.yes then version_counts.newest_version_before end as newest_version_before,
      case when comparable.yes then behind_before.workspaces end as workspaces_behind_before,
      not comparable.yes as baseline,
      in_use.*,
    from workspace_counts, provider_counts, module_counts, version_counts, behind_before, comparable, in_use
  )
select
  * exclude (is_judged),
  if(
    is_judged,
    coalesce(
      'Versions in use: '
      || nullif(
        concat_ws(
          ', ',
          format('{:,} denied', nullif(denied, 0)),
          format('{:,} below the minimum', nullif(below_minimum, 0)),
          format('{:,} without support', nullif(ended, 0)),
          format('{:,} withdrawn', nullif(withdrawn, 0)),
          format('{:,} deprecated', nullif(deprecated, 0)),
          nullif(ends_soon, 0) || format(' with support for at most {:g} days', $support_days::double)
        ),
        ''
      ),
      'No version in use is known to be denied, below the minimum, without support or withdrawn'
    )
    || case not_covered when 0 then '' when 1 then '; no policy covers 1 name' else format('; no policy covers {:,} names', not_covered) end,
    concat_ws(
      '; ',
      -- without a release in use, nothing is known to be older
      if(
        workspaces > 0 and newest_version is not null,
        format('{:,} of {:,} {} {} older than {}', workspaces_behind::bigint, workspaces::bigint, if(workspaces = 1, 'workspace', 'workspaces'), if(workspaces = 1 or workspaces_behind = 1, 'is', 'are'), newest_version),
        null
      ),
      if(
        versions = 0,
        'No version of Terraform or OpenTofu is known to be in use',
        format('{:,} {} in use', versions, if(versions = 1, 'version', 'versions'))
      )
    )
  )
  || case not_comparable when 0 then '' when 1 then '; the version of 1 workspace is not known' else format('; the versions of {:,} workspaces are not known', not_comparable::bigint) end as headline,
from counted;
