-- grain: one row per number of an area whose sources were pulled, or could not be
-- title: In numbers
-- sources: acl_policies, agent_pools, agents, autoscaler_health, ca_roots, external_volumes, key_distributions, keys, kms_providers, leaf_certificates, mesh_roles, modules, providers, registry_releases, saved_view_rows, saved_views, servers, tf_versions, tokens, volume_snapshots, volumes, workspaces
-- about: What is 0, and was 0 before, is left out. "Before" is the previous complete pull, or the previous run for numbers that their report does not compare.
-- labels: area=Area; number=Number; measure=What; before=Before; changes=Since then
-- pages: area=report; number=report
-- hidden: report, equation, newly, returned, resolved, deleted
with
  measures (place, area, report, source, measure, number, before, newly) as (
    values
      (1, 'Drift', 'drift', 'workspaces', 'workspaces drifting', 'drifting', 'drifting_before', 'newly_drifted'),
      (2, 'Drift', 'drift', 'workspaces', 'workspaces not assessed', 'unknown', 'unknown_before', null),
      (3, 'Versions', 'version-sprawl', 'workspaces', 'workspaces behind the newest version in use', 'workspaces_behind', 'workspaces_behind_before', null),
      (4, 'Versions', 'version-sprawl', 'tf_versions', 'tool versions in use', 'versions', 'versions_before', null),
      (5, 'Versions', 'version-sprawl', 'providers', 'providers in several versions', 'providers_spread', null, null),
      (6, 'Checks', 'check-failure', 'workspaces', 'workspaces failing', 'failing', 'failing_before', 'newly_failing'),
      (7, 'Checks', 'check-failure', 'workspaces', 'workspaces with errored checks', 'errored', 'errored_before', null),
      (8, 'Agents', 'agent-health', 'agent_pools', 'pools without a live agent', 'pools_without_live_agents', 'pools_without_live_agents_before', null),
      (9, 'Agents', 'agent-health', 'agents', 'agents silent at their pull', 'silent_when_pulled', null, null),
      (10, 'Keys', 'keys', 'keys', 'keys overdue for rotation', 'overdue', 'overdue_before', null),
      (11, 'Keys', 'keys', 'keys', 'keys with too many versions enabled', 'too_many_versions', null, null),
      (12, 'Keys', 'keys', 'mesh_roles', 'roles for management tokens', 'management_roles', 'management_roles_before', null),
      (13, 'Storage', 'storage', 'volumes', 'volumes that cannot be scheduled', 'unschedulable', 'unschedulable_before', null),
      (14, 'Storage', 'storage', 'volumes', 'volumes claimed only by finished allocations', 'lost_claims', null, null),
      (15, 'Storage', 'storage', 'external_volumes', 'volumes orphaned in the provider', 'orphaned', null, null),
      (16, 'Storage', 'storage', 'volume_snapshots', 'volumes unprotected', 'unprotected', null, null),
      (17, 'Storage', 'storage', 'volume_snapshots', 'stale snapshots', 'stale_snapshots', null, null),
      (18, 'Certificates', 'certificates', 'ca_roots', 'roots expiring', 'roots_expiring', null, null),
      (19, 'Certificates', 'certificates', 'ca_roots', 'roots expired', 'roots_expired', null, null),
      (20, 'Certificates', 'certificates', 'leaf_certificates', 'leaf certificates expiring', 'leaves_expiring', null, null),
      (21, 'Certificates', 'certificates', 'leaf_certificates', 'leaf certificates expired', 'leaves_expired', null, null)
  ),
  pulled as (
    select source, bool_or(as_of is not null) as is_known
    from source_state_at($as_of)
    where as_of is not null or status in ('failed', 'quarantined')
    group by source
  ),
  read as (
    select
      place,
      area,
      report,
      measure,
      if(is_known, ($summaries::json -> report ->> number)::bigint, null) as number,
      -- what a part that is not known hides is no change
      ($summaries::json -> report ->> 'baseline') = 'false'
      and coalesce(($summaries::json -> report ->> 'unknown_parts')::bigint, 0) = 0
      and coalesce(($summaries_before::json -> report ->> 'unknown_parts')::bigint, 0) = 0 as comparable,
      if(
        comparable,
        coalesce(($summaries::json -> report ->> before)::bigint, ($summaries_before::json -> report ->> number)::bigint),
        null
      ) as before,
      comparable and newly is not null as has_changes,
      if(has_changes, ($summaries::json -> report ->> newly)::bigint, null) as newly,
      if(has_changes, ($summaries::json -> report ->> 'returned')::bigint, null) as returned,
      if(has_changes, ($summaries::json -> report ->> 'resolved')::bigint, null) as resolved,
      if(has_changes, ($summaries::json -> report ->> 'deleted')::bigint, null) as deleted,
      if(has_changes, $summaries::json -> report ->> 'equation', null) as equation,
    from measures
    join pulled using (source)
  )
select
  area,
  number,
  measure,
  before,
  nullif(
    concat_ws(
      ', ',
      told_changes(newly, returned, resolved, deleted),
      if(not has_changes and number <> before, format('{}{:,}', if(number > before, '+', '−'), abs(number - before)), null)
    ),
    ''
  ) as changes,
  newly,
  returned,
  resolved,
  deleted,
  equation,
  report,
from read
-- a number that is not known is no 0
where number is distinct from 0 or before > 0
order by place;
