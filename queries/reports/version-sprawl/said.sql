-- grain: one row per version in use that the policy, its support or its registry says something of, the worst first
-- title: What policy, support and registry say
-- about: Support is that of the community edition. "Until … is released" means that no day is known yet. "Not known" is never supported.
-- empty: No policy names a version in use, and nothing is known of the support of one.
-- labels: state=State; kind=What it is; name=Name; version=Version; used_by=Used by; says=What is said
-- hidden: policy, support, registry, link
-- sources: lifecycle, modules, providers, registry_releases, servers, workspaces
with
  said as (
    select
      *,
      case
        when verdict in ('denied', 'below minimum', 'unknown') then verdict
        when support_ended then 'ended'
        when withdrawn then 'withdrawn'
        when deprecated then 'deprecated'
        when support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400) then 'ends soon'
        when facts_as_of is not null and support_ended is null then 'not known'
        when verdict = 'below recommended' then verdict
        when support_ends_at is not null then 'supported'
        when facts_as_of is not null then 'no end known'
        when verdict = 'not covered' then 'listed'
        else verdict
      end as state,
      case
        when support_ended then 'ended' || coalesce(' on ' || support_ends_at, '')
        when support_ends_at is not null then 'until ' || support_ends_at
        when ends_with is not null then format('until {} is released', ends_with)
        when support_ended is not null then 'no end is known'
        when facts_as_of is not null then 'nothing is known of its cycle'
      end as support,
      case
        when withdrawn then 'withdrawn'
        when deprecated then 'deprecated' || coalesce(': ' || warning, '')
        when warning is not null then warning
        when kind in ('provider', 'module') and withdrawn is null then if(semver_key(version) is null, 'not known', 'not asked')
      end as registry,
      case
        when verdict in ('denied', 'below minimum', 'below recommended')
          then format(
            '{} {}{}{}',
            verdict,
            versions,
            coalesce(': ' || reason, ''),
            coalesce(' (until ' || ends_at::date || ')', '')
          )
        when verdict <> 'not covered' then verdict
      end as policy,
    from versions_in_use_at($as_of)
    where verdict <> 'not covered' or facts_as_of is not null or withdrawn or deprecated or warning is not null
  )
select
  target,
  state,
  kind,
  name,
  version,
  used_by,
  -- what its state is about comes first: a text report cuts the rest
  concat_ws(
    '; ',
    if(state in ('ended', 'ends soon'), 'support: ' || support, null),
    'policy: ' || policy,
    if(state in ('ended', 'ends soon'), null, 'support: ' || support),
    'registry: ' || registry,
    link
  ) as says,
  policy,
  support,
  registry,
  link,
from said
order by
  list_position(
    ['denied', 'below minimum', 'ended', 'withdrawn', 'unknown', 'deprecated', 'ends soon', 'not known', 'below recommended', 'no end known', 'supported', 'allowed', 'listed'],
    state
  ),
  kind,
  name,
  semver_key(version) nulls last,
  version,
  target;
