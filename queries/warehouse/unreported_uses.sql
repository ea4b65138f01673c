-- grain: one row per use of a provider or module that the explorer does not report whole: a row that counts more workspaces than it names, or
-- does not tell how many (workspace_name is null), and each workspace of a row without a version (version is null). Made once for
-- all rules that read it.
create or replace temp table unreported_uses as
with
  unversioned as (
    from named_workspaces('provider')
    union all
    from named_workspaces('module')
  )
select
  target,
  kind,
  name,
  source,
  full_source,
  version,
  null::varchar as workspace_name,
  if(workspace_count is null, 'the service does not tell how many workspaces use it', 'the service counts more workspaces than it names') as why,
from named_uses
where coalesce(workspace_count > names, true)
union all
select target, kind, name, source, full_source, null, workspace_name, 'the version that is used is not reported'
from named_uses
join unversioned using (use_id)
where version is null;
