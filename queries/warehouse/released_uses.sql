-- grain: one row per workspace and version of a `provider` or `module` (kind) that it uses, and that its registry lists no more or calls deprecated
-- {{scope}} as for semver_key. is_unknown: whether the registry says nothing of the version
-- A source is matched by its full address. One of a host that no registry of the configuration answers for is not judged.
create or replace {{scope}}macro released_uses(product_kind, at_time) as table
with
  releases as (
    select
      source,
      version,
      if(product_kind = 'module', bool_or(deprecated), bool_and(unlisted)) as is_bad,
      any_value(warning) as warning,
      min(published_at) as published_at,
    from registry_releases_at(at_time)
    group by source, version
  ),
  hosts as (select distinct split_part(source, '/', 1) as host from releases),
  judged as (
    select used.*, releases.warning, releases.published_at, releases.is_bad is null as is_unknown
    from (select * replace (full_source(product_kind, source) as source) from query_table(product_kind || 's')) as used
    semi join hosts on hosts.host = split_part(used.source, '/', 1)
    left join releases on releases.source = used.source and releases.version = used.version
    where used.version is not null and releases.is_bad is distinct from false
  )
from (select *, unnest(workspace_names(workspaces, workspace_count)) as workspace_name from judged)
where workspace_name <> '';
