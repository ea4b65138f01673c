-- rule: A workspace uses a version of a provider that its registry does not list any more.
-- severity: warning
-- sources: providers
-- elsewhere: registry_releases
-- subject: workspace
-- many: uses are of a provider version that its registry has withdrawn
-- repair: move the workspace to a version that the registry lists, and commit its lock file
-- grain: one row per workspace and version that the registry does not list; unknown where the registry was not asked for it, or it is no version,
-- or where not every workspace, or not its version, is reported
-- A source is matched by its full address. A provider of a host that no registry of the configuration answers for is not judged.
with
  releases as (
    select source, version, bool_and(unlisted) as unlisted, min(published_at) as published_at
    from registry_releases_at($as_of)
    group by source, version
  ),
  hosts as (select distinct split_part(source, '/', 1) as host from releases),
  judged as (
    select providers.*, releases.published_at, releases.unlisted is null as is_unknown
    from (select * replace (full_source('provider', source) as source) from providers) as providers
    semi join hosts on hosts.host = split_part(providers.source, '/', 1)
    left join releases on releases.source = providers.source and releases.version = providers.version
    where providers.version is not null and releases.unlisted is distinct from false
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
    format('Workspace {} uses provider {} {}, which the registry has withdrawn', workspace_name, coalesce(name, source), version)
  ) as title,
  json_object('workspace_name', workspace_name, 'source', source, 'version', version, 'published_at', iso_time(published_at)) as detail,
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
where kind = 'provider'
