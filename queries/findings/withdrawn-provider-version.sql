-- rule: A workspace uses a version of a provider that its registry does not list any more.
-- severity: warning
-- sources: providers
-- needs: name, source, version, workspaces, workspace_count
-- elsewhere: registry_releases
-- subject: workspace
-- many: uses are of a provider version that its registry has withdrawn
-- repair: move the workspace to a version that the registry lists, and commit its lock file
-- grain: one row per workspace and version that the registry does not list; unknown where the registry was not asked for it, or it is no version,
-- or where not every workspace, or not its version, is reported
select
  target,
  concat_ws(' ', workspace_name, source, version) as subject_id,
  workspace_name as subject_name,
  if(
    is_unknown,
    format('the registry says nothing of {} {}', source, version),
    format('Workspace {} uses provider {} {}, which the registry has withdrawn', workspace_name, coalesce(name, source), version)
  ) as title,
  json_object('workspace_name', workspace_name, 'source', source, 'version', version, 'published_at', iso_time(published_at)) as detail,
  concat_ws(' ', name, version, '(' || source || ')') as group_key,
  is_unknown as unknown,
from released_uses('provider', $as_of)
union all by name
select
  target,
  null as subject_id,
  why as title,
  json_merge_patch('{}', json_object('workspace_name', workspace_name, 'source', full_source, 'version', version)) as detail,
  true as unknown,
from unreported_uses
where kind = 'provider' and (full_source is null or full_source in (select source from registry_releases_at($as_of)))
