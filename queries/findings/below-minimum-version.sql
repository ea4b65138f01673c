-- rule: A workspace is set to a version of its tool that the policy denies, or that is below its minimum.
-- severity: warning
-- worst: critical
-- sources: workspaces
-- subject: workspace
-- many: workspaces{of} are set to a version that the policy does not permit
-- repair: set the workspace to a version that the policy permits, after a plan with it
-- grain: one row per such workspace; unknown where there is a policy and the version cannot be read
with judged as (from versions_in_use where kind = 'tool' and verdict in ('denied', 'below minimum', 'unknown'))
select
  workspaces.target,
  external_id as subject_id,
  workspace_name as subject_name,
  case verdict
    when 'unknown' then 'its version cannot be compared with the policy'
    when 'denied'
      then format('Workspace {} is set to {} {}, which the policy denies: {}', coalesce(workspace_name, external_id), name, version, reason)
    else format(
      'Workspace {} is set to {} {}, below the minimum {}{}',
      coalesce(workspace_name, external_id),
      name,
      version,
      versions,
      coalesce(': ' || reason, '')
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_name', project_name,
    'tool', name,
    'version', version,
    'verdict', verdict,
    'policy', versions,
    'reason', reason,
    'link', link,
    'until', ends_at
  ) as detail,
  severity,
  format('{} {}', name, version) as group_key,
  verdict = 'unknown' as unknown,
from workspaces
join judged on judged.target = workspaces.target and judged.version is not distinct from workspaces.workspace_iac_version
