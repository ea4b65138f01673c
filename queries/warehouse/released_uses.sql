-- grain: one row per workspace and version of a `provider` or `module` (kind) that it uses, and that its registry lists no more or calls deprecated
-- {{scope}} as for semver_key. is_unknown: whether the registry says nothing of the version
-- A source is matched by its full address. One of a host that no registry of the configuration answers for is not judged.
create or replace {{scope}}macro released_uses(product_kind, at_time) as table
with
  releases as (
    select
      source,
      version,
      bool_or(deprecated) as deprecated,
      bool_and(unlisted) as unlisted,
      any_value(warning) as warning,
      min(published_at) as published_at,
    from registry_releases_at(at_time)
    group by source, version
  ),
  hosts as (select distinct split_part(source, '/', 1) as host from releases),
  judged as (
    select
      used.* replace (full_source as source),
      releases.warning,
      releases.published_at,
      if(product_kind = 'module', releases.deprecated, releases.unlisted) as is_bad,
    from named_uses as used
    semi join hosts on hosts.host = split_part(used.full_source, '/', 1)
    left join releases on releases.source = used.full_source and releases.version = used.version
    where used.kind = product_kind and used.version is not null
  )
select *, is_bad is null as is_unknown
from judged
join named_workspaces(product_kind) using (use_id)
where is_bad is distinct from false;
