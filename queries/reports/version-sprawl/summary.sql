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
  -- what was never pulled has no number
  pulled as (select coalesce(list(distinct source), []) as pulled from source_state_at($as_of) where as_of is not null),
  used as (from tool_versions_at($as_of)),
  listed_before as (
    select distinct stored.version
    from tf_versions_rows as stored
    join source_state_at($as_of) as state on state.target = stored.target and state.source = 'tf_versions'
    where
      stored.valid_from <= state.previous_as_of
      and (stored.valid_to is null or stored.valid_to > state.previous_as_of)
  ),
  used_before as (
    select version, semver_key(version) as key
    from (
      select version from listed_before
      union
      select workspace_iac_version from workspaces_before($as_of) where not exists (from listed_before)
    )
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
      -- where no version can be compared, null: nobody knows who is behind
      if(count(*) = 0 or count(key < newest_key) > 0, 0, null) as none_behind,
      coalesce(sum(workspaces) filter (key < newest_key), none_behind) as workspaces_behind,
      coalesce(sum(workspaces) filter (key[:18] < newest_key[:18]), none_behind) as behind_major,
      coalesce(sum(workspaces) filter (key[:18] = newest_key[:18] and key[20:37] < newest_key[20:37]), none_behind) as behind_minor,
      coalesce(sum(workspaces) filter (key[:37] = newest_key[:37] and key < newest_key), none_behind) as behind_patch,
      coalesce(sum(workspaces) filter (not ends_with(key, '~')), if(count(*) = 0 or count(key) > 0, 0, null)) as workspaces_on_prereleases,
      coalesce(sum(workspaces) filter (key is null), 0) as not_comparable,
    from held
  ),
  held_before as (
    select workspace_iac_version as version, count(*) as workspaces from workspaces_before($as_of) group by all
  ),
  behind_before as (
    select coalesce(sum(workspaces) filter (key < newest_key), if(count(*) = 0 or count(key < newest_key) > 0, 0, null)) as workspaces
    from (select semver_key(version) as key, (select key from newest_before) as newest_key, workspaces from held_before)
  ),
  provider_counts as (
    select
      count(distinct row(name, source)) as providers,
      count(distinct row(name, source, version)) as provider_versions,
      (select count(*) from (
        select name, source from providers_used group by name, source having count(distinct version) > 1
      )) as providers_spread,
    from providers_used
  ),
  module_counts as (
    select
      count(distinct row(name, source)) as modules,
      count(distinct row(name, source, version)) as module_versions,
      (select count(*) from (
        select name, source from modules_used group by name, source having count(distinct version) > 1
      )) as modules_spread,
    from modules_used
  ),
  counted_in_use as (
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
  -- where the workspaces were never pulled, their versions may be any, and 0 says nothing
  in_use as (
    select
      is_judged,
      nullif(columns(* exclude (is_judged, pulled)), if('workspaces' in pulled, null, 0)),
    from counted_in_use, pulled
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  version_counts as (
    select
      (select count(distinct version) from used) as versions,
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
      workspace_counts.* exclude (none_behind),
      provider_counts.*,
      module_counts.*,
      case when comparable.yes then version_counts.versions_before end as versions_before,
      case when comparable.yes then version_counts.newest_version_before end as newest_version_before,
      case when comparable.yes then behind_before.workspaces end as workspaces_behind_before,
      not comparable.yes as baseline,
      in_use.* replace (
        if('registry_releases' in pulled, withdrawn, null) as withdrawn,
        if('registry_releases' in pulled, deprecated, null) as deprecated
      ),
    from comparable
    cross join pulled
    cross join in_use
    cross join behind_before
    left join version_counts on 'tf_versions' in pulled or 'workspaces' in pulled
    left join workspace_counts on 'workspaces' in pulled
    left join provider_counts on 'providers' in pulled
    left join module_counts on 'modules' in pulled
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
    || case coalesce(not_covered, 0) when 0 then '' when 1 then '; no policy covers 1 name' else format('; no policy covers {:,} names', not_covered) end,
    concat_ws(
      '; ',
      -- without a release in use, nothing is known to be older
      if(
        workspaces > 0 and workspaces_behind is not null,
        format('{:,} of {:,} {} {} older than {}', workspaces_behind::bigint, workspaces::bigint, if(workspaces = 1, 'workspace', 'workspaces'), if(workspaces = 1 or workspaces_behind = 1, 'is', 'are'), newest_version),
        null
      ),
      if(
        coalesce(versions, 0) = 0,
        'No version of Terraform or OpenTofu is known to be in use',
        format('{:,} {} in use', versions, if(versions = 1, 'version', 'versions'))
      )
    )
  )
  || case coalesce(not_comparable, 0) when 0 then '' when 1 then '; the version of 1 workspace is not known' else format('; the versions of {:,} workspaces are not known', not_comparable::bigint) end as headline,
from counted;
