-- grain: one row per module or provider (source_name: `modules`, `providers`) that was in use in more than one version at a time
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro versions_spread(source_name, at_time) as table
with
  -- the stored rows and members, because the tables would assemble every list of workspaces
  held as (from stored_versions_at(source_name, at_time) where history_reaches(at_time::timestamptz)),
  versions as (
    select name, source, version, semver_key(version) as key, sum(workspace_count) as workspace_count
    from held
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
  users as (
    select held.name, held.source, unnest(string_split_regex(member.member, ',\s*')) as workspace
    from query_table(source_name || '_members') as member
    join held
      on held.target = member.target
      and held.name is not distinct from member.name
      and held.source is not distinct from member.source
      and held.version = member.version
      and held.ordinal is not distinct from member.ordinal
      and member.valid_from <= held.valid_from
      and (member.valid_to is null or member.valid_to > held.valid_from)
    semi join spread
      on spread.name is not distinct from held.name
      and spread.source is not distinct from held.source
      and spread.oldest = held.version
  ),
  first_users as (select name, source, count(*) as total, min(workspace, 3) as names from users group by name, source),
  before as (
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
  array_to_string(first_users.names, ', ') || if(first_users.total > 3, format(' and {} more', first_users.total - 3), '') as held_by,
from spread
left join versions
  on versions.name is not distinct from spread.name
  and versions.source is not distinct from spread.source
  and versions.version = spread.oldest
left join first_users
  on first_users.name is not distinct from spread.name
  and first_users.source is not distinct from spread.source
left join before
  on before.name is not distinct from spread.name
  and before.source is not distinct from spread.source;
