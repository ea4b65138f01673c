-- grain: one row per target and version in use of a tool, provider, module or product, as of a time, with what the policy, the facts
-- about its support and its registry say of it.
-- A version that cannot be read is `unknown` where there is a policy, never `allowed`.
-- defined: after the views
create or replace macro versions_in_use_at(at_time) as table
with
  supported as (
    select
      known.*
      -- The policy calls these servers by their kind.
      replace (
        if(servers.kind in ('platform', 'autoscaler'), servers.kind, known.name) as name
      ),
    from version_support_at(at_time) as known
    left join servers_at(at_time) as servers on known.kind = 'product' and servers.target = known.target
  ),
  held as (
    select target, kind, name, version, used_by
    from supported
    union all
    select target, 'provider', full_source('provider', source), version, sum(workspace_count)::bigint
    from stored_versions_at('providers', at_time)
    group by all
    union all
    select target, 'module', full_source('module', source), version, sum(workspace_count)::bigint
    from stored_versions_at('modules', at_time)
    group by all
  ),
  -- what may be of either tool can be compared with the policy of neither
  keyed as (
    select
      *,
      if(name = 'terraform or opentofu', null, semver_key(version)) as key,
      if(kind = 'provider', lower(name), name) as policy_name,
    from held
  ),
  policies as (
    select
      *,
      -- Registries show `Azure`, and Terraform writes `azure`.
      if(kind = 'provider', lower(name), name) as policy_name,
      row(
        list_position(['critical', 'warning', 'info'], severity),
        list_position(['denied', 'minimum', 'recommended'], says)
      ) as place,
      semver_key(at_least) as at_least_key,
      semver_key(above) as above_key,
      semver_key(at_most) as at_most_key,
      semver_key(below) as below_key,
    from version_policy
    where coalesce(ends_at > at_time::timestamptz, true)
  ),
  judged as (
    select
      keyed.*,
      policies.says is not null as is_covered,
      policies.place,
      policies.recommended,
      case
        when coalesce(key >= at_least_key, true)
          and coalesce(key > above_key, true)
          and coalesce(key <= at_most_key, true)
          and coalesce(key < below_key, true)
          then {
            'says': says, 'versions': versions, 'severity': severity, 'reason': reason, 'link': link, 'ends_at': ends_at
          }
      end as applies,
    from keyed
    left join (
      select *, max(versions) filter (says = 'recommended') over (partition by kind, name) as recommended
      from policies
    ) as policies
      on policies.kind = keyed.kind
      and (policies.policy_name = keyed.policy_name or (policies.kind = 'tool' and keyed.name = 'terraform or opentofu'))
  ),
  said as (
    select
      target,
      kind,
      name,
      version,
      key,
      used_by,
      bool_or(is_covered) as is_covered,
      any_value(recommended) as recommended,
      arg_min(applies, place) filter (applies is not null) as worst,
    from judged
    group by all
  ),
  releases as (
    select source, version, bool_and(unlisted) as withdrawn, bool_or(deprecated) as deprecated, any_value(warning) as warning
    from registry_releases_at(at_time)
    group by source, version
  )
select
  said.target,
  said.kind,
  said.name,
  said.version,
  said.used_by,
  case
    when not is_covered then 'not covered'
    when key is null then 'unknown'
    when worst.says is null then 'allowed'
    when worst.says = 'denied' then 'denied'
    else 'below ' || worst.says
  end as verdict,
  case when key is not null then worst.versions end as versions,
  case when key is not null then worst.severity end as severity,
  case when key is not null then worst.reason end as reason,
  case when key is not null then worst.link end as link,
  case when key is not null then worst.ends_at end as ends_at,
  recommended,
  supported.support_ends_at,
  case when supported.support <> 'unknown' then supported.support = 'ended' end as support_ended,
  supported.ends_with,
  supported.data_as_of as facts_as_of,
  releases.withdrawn,
  releases.deprecated,
  releases.warning,
from said
left join supported
  on supported.target = said.target
  and supported.kind = said.kind
  and supported.name is not distinct from said.name
  and supported.version is not distinct from said.version
left join releases on said.kind in ('provider', 'module') and releases.source = said.name and releases.version = said.version
where history_reaches(at_time::timestamptz);
