-- rule: A workspace uses a version of a public module that its registry calls deprecated.
-- severity: warning
-- sources: modules
-- needs: name, source, version, workspaces, workspace_count, registry_type
-- elsewhere: registry_releases
-- subject: workspace
-- many: uses are of a module version that its registry calls deprecated
-- repair: read why, and move the configuration to another version or module
-- grain: one row per workspace and deprecated version; unknown where the registry says nothing of the version,
-- or where not every workspace, or not its version, is reported
-- A private module is not judged.
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
from released_uses('module', $as_of)
where registry_type is distinct from 'private'
union all by name
select
  target,
  null as subject_id,
  why as title,
  json_merge_patch('{}', json_object('workspace_name', workspace_name, 'source', full_source, 'version', version)) as detail,
  true as unknown,
from unreported_uses
where kind = 'module' and (full_source is null or full_source in (select source from registry_releases_at($as_of)))
