-- grain: one row per use of a provider or module that the explorer does not report whole: a row that counts more workspaces than it names, or
-- does not tell how many (workspace_name is null), and each workspace of a row without a version (version is null). Made once for
-- all rules that read it.
create or replace temp table unreported_uses as
with
  used as (
    select *, workspace_names(nullif(workspaces, ''), workspace_count) as names
    from (
      select 'provider' as kind, target, name, source, version, workspaces, workspace_count from providers
      union all
      select 'module', target, name, source, version, workspaces, workspace_count from modules
    )
  )
select
  target,
  kind,
  name,
  source,
  full_source(kind, source) as full_source,
  version,
  null::varchar as workspace_name,
  if(workspace_count is null, 'the service does not tell how many workspaces use it', 'the service counts more workspaces than it names') as why,
from used
where coalesce(workspace_count > coalesce(len(names), 0), true)
union all
select target, kind, name, source, full_source(kind, source), null, unnest(names), 'the version that is used is not reported'
from used
where version is null;
