-- rule: A workspace uses a version of a provider that the policy denies, or that is below its minimum.
-- severity: warning
-- worst: critical
-- sources: providers
-- subject: workspace
-- many: uses are of a provider version that the policy does not permit
-- repair: raise the provider version in the configuration; ask the owner of the project
-- grain: one row per workspace and provider, for the worst of the versions that it uses; unknown where there is a policy and the version cannot be read,
-- or where not every workspace is reported
-- The policy names the full source address, and so matches no other provider of the same name.
with
  judged as (
    from versions_in_use where kind = 'provider' and verdict in ('denied', 'below minimum', 'unknown')
  ),
  used as (
    select judged.*, providers.name as short_name, unnest(workspace_names(workspaces, workspace_count)) as workspace_name
    from providers
    join judged
      on judged.target = providers.target
      and judged.name = full_source('provider', providers.source)
      and judged.version is not distinct from providers.version
  )
select
  target,
  concat_ws(' ', workspace_name, short_name, name) as subject_id,
  workspace_name as subject_name,
  case verdict
    when 'unknown' then 'its version cannot be compared with the policy'
    when 'denied' then format('Workspace {} uses provider {} {}, which the policy denies: {}', workspace_name, name, version, reason)
    else format(
      'Workspace {} uses provider {} {}, below the minimum {}{}',
      workspace_name,
      name,
      version,
      versions,
      coalesce(': ' || reason, '')
    )
  end as title,
  json_object(
    'workspace_name', workspace_name,
    'source', name,
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
from used
where workspace_name <> ''
qualify
  row_number() over (
    partition by target, subject_id
    order by list_position(['critical', 'warning', 'info'], severity) nulls last, semver_key(version), version
  ) = 1
union all by name
select target, null as subject_id, why as title, json_merge_patch('{}', json_object('source', full_source, 'version', version)) as detail, true as unknown
from unreported_uses
where kind = 'provider' and workspace_name is null
