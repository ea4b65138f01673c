-- grain: one row per provider and public module that the targets use, with its versions in use
-- A private module is in the registry of its organization.
with
  used as (
    select 'provider' as kind, full_source('provider', source) as source, version
    from stored_versions_at('providers', 'infinity')
    union all
    select 'module' as kind, full_source('module', source) as source, version
    from stored_versions_at('modules', 'infinity')
    where registry_type is distinct from 'private'
  )
select
  kind,
  source,
  coalesce(list(distinct version order by version) filter (where version is not null), []) as versions,
from used
where used.source is not null
group by kind, source
order by kind, source;
