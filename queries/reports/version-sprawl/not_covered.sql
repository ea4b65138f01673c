-- grain: one row per tool, provider, module or product in use that no policy names, the most used first
-- title: What no policy covers
-- about: A policy for it in policy/versions.yaml says which versions may live. Until then, only its support and the newest version in use tell.
-- empty: The policy names every tool, provider and module in use.
-- labels: kind=What it is; name=Name; versions=Versions; oldest=Oldest; newest=Newest; used_by=Used by; registry=Its registry
-- sources: modules, providers, registry_releases, servers, workspaces
select
  target,
  kind,
  coalesce(name, 'without a source') as name,
  count(distinct version) as versions,
  arg_min(version, semver_key(version)) as oldest,
  arg_max(version, semver_key(version)) as newest,
  sum(used_by)::bigint as used_by,
  if(bool_or(withdrawn is null), if(kind in ('provider', 'module'), 'not asked', null), 'asked') as registry,
from versions_in_use_at($as_of)
where verdict = 'not covered'
group by target, kind, name
order by used_by desc nulls last, kind, name, target;
