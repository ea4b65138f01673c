-- rule: A workspace uses a version of a public module that its registry calls deprecated.
-- severity: warning
-- sources: modules
-- elsewhere: registry_releases
-- subject: workspace
-- many: uses are of a module version that its registry calls deprecated
-- repair: read why, and move the configuration to another version or module
-- grain: one row per workspace and deprecated version; unknown where the registry says nothing of the version,
-- or where not every workspace, or not its version, is reported
-- A source is matched by its full address. A private module, and one of a host that no registry of the configuration answers for, is not judged.
with
  releases as (
    select source, version, bool_or(deprecated) as deprecated, any_value(warning) as warning
    from registry_releases_at($as_of)
    group by source, version
  ),
  hosts as (select distinct split_part(source, '/', 1) as host from releases),
  judged as (
    select modules.*, releases.warning, releases.deprecated is null as is_unknown
    from (select * replace (full_source('module', source) as source) from modules) as modules
    semi join hosts on hosts.host = split_part(modules.source, '/', 1)
    left join releases on releases.source = modules.source and releases.version = modules.version
    where modules.version is not null and modules.registry_type is distinct from 'private' and releases.deprecated is distinct from false
  ),
  used as (
    select *, unnest(workspace_names(workspaces, workspace_count)) as workspace_name
    from judged
  )
select
  target,
  concat_ws(' ', workspace_name, source, version) as subject_id,
  workspace_name as subject_name,
  if(
    is_unknown,
    format('the registry says nothing of {} {}', source, version),
    format(
      'Workspace {} uses module {} {}, which is deprecated{}',
      workspace_name,
      coalesce(name, source),
      version,
      coalesce(': ' || warning, '')
    )
  ) as title,
  json_object('workspace_name', workspace_name, 'source', source, 'version', version, 'reason', warning) as detail,
  concat_ws(' ', name, version, '(' || source || ')') as group_key,
  is_unknown as unknown,
from used
where workspace_name <> ''
union all by name
select
  target,
  null as subject_id,
  why as title,
  json_merge_patch('{}', json_object('workspace_name', workspace_name, 'source', full_source, 'version', version)) as detail,
  true as unknown,
from unreported_uses
semi join releases on releases.source = full_source
where kind = 'module'
