-- grain: one row per workspace and `provider` or `module` (kind; by name and source) that it uses in an older version than the recommended one or, without
-- a policy for it, than the newest one in use, as a rule returns it; grouped by the oldest of them; unknown where not every workspace, or not
-- its version, is reported
-- A policy for its source decides alone. Where there is none, the newest version is the highest release in use by semantic precedence, or the highest prerelease where there is no release.
-- A higher prerelease is not older; a version that is not semantic is. {{scope}} as for semver_key.
-- Not materialized: DuckDB would no longer know that there are few versions, and keep all workspaces in memory to join them.
create or replace {{scope}}macro versions_in_use_behind(product_kind) as table
with
  ranked as not materialized (
    select *, case when ends_with(rank, '~') then '1' || rank else '0' || rank end as sort_key
    from (select *, coalesce(semver_key(version), '') as rank from named_uses where kind = product_kind and version is not null)
  ),
  compared as not materialized (
    select
      ranked.*,
      policy.verdict,
      policy.recommended,
      arg_max(ranked.version, sort_key) over same as newest_version,
      substr(max(sort_key) over same, 2) as newest_rank,
      count(*) over same as versions_in_use,
    from ranked
    left join (from versions_in_use where kind = product_kind) as policy
      on policy.target = ranked.target
      and policy.name is not distinct from ranked.full_source
      and policy.version = ranked.version
    window same as (partition by ranked.target, ranked.name, source)
  ),
  older as not materialized (
    from compared
    where verdict = 'below recommended' or (coalesce(verdict, 'not covered') = 'not covered' and rank < newest_rank)
  ),
  used as (from older join named_workspaces(product_kind) using (use_id)),
  behind as (
    select
      target,
      workspace_name,
      name,
      source,
      any_value(newest_version) as newest_version,
      any_value(recommended) as recommended,
      any_value(versions_in_use) as versions_in_use,
      list(version order by rank, version) as versions,
    from used
    group by target, workspace_name, name, source
  )
select
  target,
  concat_ws(' ', workspace_name, name, source) as subject_id,
  workspace_name as subject_name,
  format(
    'Workspace {} uses {} {} {}; {}',
    workspace_name,
    product_kind,
    coalesce(name, source, '?'),
    array_to_string(versions, ', '),
    if(recommended is null, 'the newest in use is ' || newest_version, recommended || ' is recommended')
  ) as title,
  json_object(
    'workspace_name', workspace_name,
    'name', name,
    'source', source,
    'versions', versions,
    'newest_version', newest_version,
    'recommended', recommended,
    'versions_in_use', versions_in_use
  ) as detail,
  concat_ws(' ', name, '(' || source || ')', versions[1]) as group_key,
from behind
union all by name
select
  target,
  if(workspace_name is null, null, concat_ws(' ', workspace_name, name, source)) as subject_id,
  why as title,
  json_merge_patch('{}', json_object('name', name, 'source', source)) as detail,
  true as unknown,
from unreported_uses
where
  kind = product_kind
  and (
    version is null
    or name is null
    or source is null
    or exists (
      from older
      where
        older.target = unreported_uses.target
        and older.name = unreported_uses.name
        and older.source = unreported_uses.source
        and older.version = unreported_uses.version
    )
  );
