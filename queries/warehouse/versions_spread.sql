-- grain: one row per module or provider (source_name: `modules`, `providers`) that was in use in more than one version at a time
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro versions_spread(source_name, at_time) as table
with
  versions as (
    select
      name,
      source,
      version,
      semver_key(version) as key,
      sum(workspace_count) as workspace_count,
      string_agg(workspaces, ', ' order by target) as workspaces,
    from (
      select 'modules' as kind, target, name, source, version, workspace_count, workspaces from modules_at(at_time)
      union all
      select 'providers', target, name, source, version, workspace_count, workspaces from providers_at(at_time)
    )
    where kind = source_name
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
    -- the stored rows, because the tables would assemble every list of workspaces
    select held.name, held.source, count(distinct held.version) as versions
    from query_table(source_name || '_rows') as held
    join source_state_at(at_time) as state on state.target = held.target and state.source = source_name
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
  and before.source is not distinct from spread.source;
