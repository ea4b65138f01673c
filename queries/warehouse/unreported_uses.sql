-- grain: one row per use of a provider or module that the explorer does not report whole: a row that counts more workspaces than it names, or
-- does not tell how many, or has no name or source where others of the target have one (workspace_name is null), and each workspace of a row
-- without a version (version is null). Made once for all rules that read it.
create or replace temp table unreported_uses as
with
  unversioned as (
    from named_workspaces('provider')
    union all
    from named_workspaces('module')
  ),
  compared as (
    select
      *,
      case
        when source is null and bool_or(source is not null) over same then 'its source is not reported'
        when name is null and bool_or(name is not null) over same then 'its name is not reported'
        when workspace_count is null then 'the service does not tell how many workspaces use it'
        when workspace_count > names then 'the service counts more workspaces than it names'
      end as why,
    from named_uses
    window same as (partition by target, kind)
  )
select
  target,
  kind,
  name,
  source,
  full_source,
  version,
  null::varchar as workspace_name,
  why,
from compared
where why is not null
union all
select target, kind, name, source, full_source, null, workspace_name, 'the version that is used is not reported'
from named_uses
join unversioned using (use_id)
where version is null;
