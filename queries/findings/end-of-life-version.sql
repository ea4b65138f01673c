-- rule: A workspace is set to a version of its tool that is no longer supported, or not for longer than `supportDays`.
-- severity: info
-- worst: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces{of} have a version whose support has ended or ends soon
-- repair: raise the version in the workspace, after a plan with it
-- grain: one row per such workspace; a warning where a third of `supportDays` or less is left; unknown where nothing is known of the support of its version
-- parameters: $as_of, $support_days
-- A version whose end is not known yet is none: it is supported until another one is released.
select
  workspaces.target,
  external_id as subject_id,
  workspace_name as subject_name,
  case support
    when 'unknown' then coalesce(why, 'nothing is known of its version')
    else format(
      'Workspace {} is set to {} {}, whose support {}{}',
      coalesce(workspace_name, external_id),
      known.name,
      known.version,
      if(support = 'ended', 'ended', 'ends'),
      coalesce(' on ' || support_ends_at::varchar, '')
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'version', known.version,
    'support_ends_at', support_ends_at,
    'latest', latest,
    'facts_of', data_as_of
  ) as detail,
  format('{} {}', known.name, coalesce(cycle, known.version)) as group_key,
  if(
    support = 'ended' or support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400 / 3), 'warning', 'info'
  ) as severity,
  support = 'unknown' as unknown,
from workspaces
join version_support as known
  on known.kind = 'tool'
  and known.target = workspaces.target
  and known.version is not distinct from workspaces.workspace_iac_version
where
  support in ('unknown', 'ended')
  or support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400)
