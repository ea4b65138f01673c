-- grain: one row per number of an area whose sources were pulled
-- title: Areas
-- sources: agent_pools, agents, ca_roots, external_volumes, key_distributions, keys, kms_providers, leaf_certificates, mesh_roles, modules, providers, tf_versions, volume_snapshots, volumes, workspaces
-- about: Click a number to see its rows. "Before" is the previous complete pull, or the previous run for numbers that their report does not compare.
-- labels: area=Area; number=Number; measure=Metric; before=Before; newly=New; resolved=Resolved; no_longer_reported=No longer reported
-- pages: area=report; number=report
-- hidden: report, equation
with
  measures (place, area, report, source, measure, number, before, newly, resolved, no_longer) as (
    values
      (1, 'Drift', 'drift', 'workspaces', 'workspaces drifting', 'drifted', 'drifted_before', 'newly_drifted', 'resolved', 'no_longer_reported'),
      (2, 'Drift', 'drift', 'workspaces', 'workspaces not assessed', 'unknown', 'unknown_before', null, null, null),
      (3, 'Versions', 'version-sprawl', 'workspaces', 'workspaces behind the newest release', 'workspaces_behind', 'workspaces_behind_before', null, null, null),
      (4, 'Versions', 'version-sprawl', 'tf_versions', 'tool versions in use', 'versions', 'versions_before', null, null, null),
      (5, 'Versions', 'version-sprawl', 'providers', 'providers in several versions', 'providers_spread', null, null, null, null),
      (6, 'Checks', 'check-failure', 'workspaces', 'workspaces failing', 'failing', 'failing_before', 'newly_failing', 'resolved', 'no_longer_reported'),
      (7, 'Checks', 'check-failure', 'workspaces', 'workspaces with errored checks', 'errored', 'errored_before', null, null, null),
      (8, 'Agents', 'agent-health', 'agent_pools', 'pools without a live agent', 'pools_without_live_agents', 'pools_without_live_agents_before', null, null, null),
      (9, 'Agents', 'agent-health', 'agents', 'silent agents', 'silent_agents', null, null, null, null),
      (10, 'Keys', 'keys', 'keys', 'keys overdue for rotation', 'overdue', 'overdue_before', null, null, null),
      (11, 'Keys', 'keys', 'keys', 'keys with too many versions enabled', 'too_many_versions', null, null, null, null),
      (12, 'Keys', 'keys', 'mesh_roles', 'roles for management tokens', 'management_roles', 'management_roles_before', null, null, null),
      (13, 'Storage', 'storage', 'volumes', 'volumes that cannot be scheduled', 'unschedulable', 'unschedulable_before', null, null, null),
      (14, 'Storage', 'storage', 'volumes', 'volumes claimed only by finished allocations', 'lost_claims', null, null, null, null),
      (15, 'Storage', 'storage', 'external_volumes', 'volumes orphaned in the provider', 'orphaned', null, null, null, null),
      (16, 'Storage', 'storage', 'volume_snapshots', 'volumes unprotected', 'unprotected', null, null, null, null),
      (17, 'Storage', 'storage', 'volume_snapshots', 'stale snapshots', 'stale_snapshots', null, null, null, null),
      (18, 'Certificates', 'certificates', 'ca_roots', 'roots expiring', 'roots_expiring', null, null, null, null),
      (19, 'Certificates', 'certificates', 'ca_roots', 'roots expired', 'roots_expired', null, null, null, null),
      (20, 'Certificates', 'certificates', 'leaf_certificates', 'leaf certificates expiring', 'leaves_expiring', null, null, null, null),
      (21, 'Certificates', 'certificates', 'leaf_certificates', 'leaf certificates expired', 'leaves_expired', null, null, null, null)
  ),
  pulled as (select distinct source from source_state_at($as_of) where as_of is not null)
select
  area,
  ($summaries::json -> report ->> number)::bigint as number,
  measure,
  case
    when ($summaries::json -> report ->> 'baseline') = 'false'
      then coalesce(
        ($summaries::json -> report ->> before)::bigint,
        ($summaries_before::json -> report ->> number)::bigint
      )
  end as before,
  case when ($summaries::json -> report ->> 'baseline') = 'false' then ($summaries::json -> report ->> newly)::bigint end as newly,
  case when ($summaries::json -> report ->> 'baseline') = 'false' then ($summaries::json -> report ->> resolved)::bigint end as resolved,
  case when ($summaries::json -> report ->> 'baseline') = 'false' then ($summaries::json -> report ->> no_longer)::bigint end as no_longer_reported,
  ($summaries::json -> report ->> if(newly is null, null, 'equation')) as equation,
  report,
from measures
semi join pulled using (source)
order by place;
