-- grain: one row per module that is in use in more than one version
-- title: Modules in more than one version
-- sources: modules
-- about: "Used by" lists the first workspaces on the oldest version, by name.
-- empty: Every module is in use in one version.
-- labels: name=Module; source=Source; workspaces=Uses; on_oldest=On the oldest; held_by=Used by; versions_before=Versions before
with
  versions as (
    select
      name,
      source,
      version,
      semver_key(version) as key,
      sum(workspace_count) as workspace_count,
      string_agg(workspaces, ', ' order by target) as workspaces,
    from modules_at($as_of)
    group by name, source, version
  ),
  spread as (
    select
      name,
      source,
      count(*) as versions,
      arg_min(version, row(key, version)) filter (key is not null) as oldest,
      arg_max(version, row(key, version)) filter (key is not null) as newest,
      sum(workspace_count) as workspaces,
    from versions
    group by name, source
    having count(*) > 1
  ),
  before as (
    -- reads the stored rows, because modules_before would assemble every list of workspaces
    select held.name, held.source, count(distinct held.version) as versions
    from modules_rows as held
    join source_state_at($as_of) as state on state.target = held.target and state.source = 'modules'
    where
      held.valid_from <= state.previous_as_of
      and (held.valid_to is null or held.valid_to > state.previous_as_of)
    group by held.name, held.source
  )
select
  spread.name,
  spread.source,
  spread.versions,
  before.versions as versions_before,
  spread.oldest,
  spread.newest,
  spread.workspaces,
  versions.workspace_count as on_oldest,
  array_to_string(list_sort(string_split_regex(versions.workspaces, ',\s*'))[:3], ', ')
  || case
    when len(string_split_regex(versions.workspaces, ',\s*')) > 3
      then format(' and {} more', len(string_split_regex(versions.workspaces, ',\s*')) - 3)
    else ''
  end as held_by,
from spread
left join versions
  on versions.name is not distinct from spread.name
  and versions.source is not distinct from spread.source
  and versions.version = spread.oldest
left join before
  on before.name is not distinct from spread.name
  and before.source is not distinct from spread.source
order by spread.versions desc, spread.workspaces desc nulls last, spread.name, spread.source;
