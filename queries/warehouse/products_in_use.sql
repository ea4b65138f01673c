-- grain: one row per provider and public module that the targets use, with its versions in use
-- A private module is in the registry of its organization. Tables of a target that is no longer configured keep their rows, and say nothing.
with
  used as (
    select target, 'providers' as view, 'provider' as kind, full_source('provider', source) as source, version
    from providers
    union all
    select target, 'modules' as view, 'module' as kind, full_source('module', source) as source, version
    from modules
    where registry_type is distinct from 'private'
  )
select
  kind,
  source,
  coalesce(list(distinct version order by version) filter (where version is not null), []) as versions,
from used
semi join source_state on source_state.target = used.target and source_state.source = used.view
where used.source is not null
group by kind, source
order by kind, source;
