-- rule: A workspace uses a version of a public module that its registry calls deprecated.
-- severity: warning
-- sources: modules
-- elsewhere: registry_releases
-- subject: workspace
-- many: uses are of a module version that its registry calls deprecated
-- repair: read why, and move the configuration to another version or module
-- grain: one row per workspace and deprecated version; unknown where the registry says nothing of the version, or where not every workspace or version is told
-- A source is matched by its full address. A private module, and one of a host that no registry of the configuration answers for, is not judged.
with
  releases as (
    select source, version, bool_or(deprecated) as deprecated, any_value(warning) as warning
    from registry_releases
    group by source, version
  ),
  hosts as (select distinct split_part(source, '/', 1) as host from releases),
  judged as (
    select modules.*, releases.warning, releases.deprecated is null as is_unknown
    from (select * replace (full_source('module', source) as source) from modules) as modules
    semi join hosts on hosts.host = split_part(modules.source, '/', 1)
    left join releases on releases.source = modules.source and releases.version = modules.version
    where modules.registry_type is distinct from 'private' and releases.deprecated is distinct from false
  ),
  used as (
    select *, unnest(workspace_names(workspaces, workspace_count)) as workspace_name
    from judged
  )
select
  target,
  if(workspace_name is null or version is null, null, concat_ws(' ', workspace_name, source, version)) as subject_id,
  workspace_name as subject_name,
  case
    when version is null then 'the version that is used is not reported'
    when is_unknown then format('the registry says nothing of {} {}', source, version)
    when workspace_name is null then 'the service counts more workspaces than it names'
    else format(
      'Workspace {} uses module {} {}, which is deprecated{}',
      workspace_name,
      coalesce(name, source),
      version,
      coalesce(': ' || warning, '')
    )
  end as title,
  case
    when version is null and workspace_name is null then json_object('source', source)
    when version is null then json_object('workspace_name', workspace_name, 'source', source)
    when workspace_name is null then json_object('source', source, 'version', version)
    else json_object('workspace_name', workspace_name, 'source', source, 'version', version, 'reason', warning)
  end as detail,
  concat_ws(' ', name, version, '(' || source || ')') as group_key,
  is_unknown or workspace_name is null as unknown,
from used
where workspace_name is distinct from ''
