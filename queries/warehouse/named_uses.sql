-- grain: one row per current row of `providers` and `modules` (kind), with how many workspaces its list names. Made once for all rules that read it.
-- It reads the stored rows and members, because the tables would assemble every list of workspaces.
-- is_split: names may contain commas: a list is split at comma and space, or at every comma where only that gives their number
create or replace temp table named_uses as
with
  held as (
    select 'provider' as kind, target, name, source, version, ordinal, workspace_count, null as registry_type
    from stored_versions_at('providers', 'infinity')
    union all
    select 'module', target, name, source, version, ordinal, workspace_count, registry_type
    from stored_versions_at('modules', 'infinity')
  ),
  members as (
    select 'provider' as kind, * from providers_members where valid_to is null
    union all
    select 'module', * from modules_members where valid_to is null
  ),
  listed as (
    select
      kind,
      target,
      name,
      source,
      version,
      ordinal,
      count(*) as names,
      sum(len(member) - len(replace(member, ',', ''))) as commas,
      bool_or(contains(member, ',') and regexp_matches(member, '(^|,) *(,|$)')) as has_empty,
    from members
    where member <> ''
    group by all
  )
select
  row_number() over () as use_id,
  held.*,
  full_source(held.kind, held.source) as full_source,
  coalesce(listed.names <> held.workspace_count and listed.names + listed.commas = held.workspace_count, false) as is_split,
  coalesce(if(is_split, held.workspace_count - has_empty::bigint, listed.names), 0) as names, -- at most: an empty name is none
from held
left join listed
  on listed.kind = held.kind
  and listed.target = held.target
  and listed.name is not distinct from held.name
  and listed.source is not distinct from held.source
  and listed.version is not distinct from held.version
  and listed.ordinal is not distinct from held.ordinal;
