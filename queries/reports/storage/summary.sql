-- grain: one row
-- title: Storage
-- order: 6
-- rules: volume-unschedulable, lost-volume-claim, missing-external-volume, orphaned-external-volume, unprotected-volume, stale-snapshot, abnormal-external-volume
-- unknown: protection_unknown, not_reported, abnormal_unknown, stale_unknown, unknown_parts
-- sources: external_volumes, volume_snapshots, volumes
-- about: Volumes of the scheduler compared with their storage providers: volumes that cannot be scheduled, are claimed only by finished allocations, are missing, orphaned or unprotected, and stale snapshots. What could not be listed is unknown and not counted.
with
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source = 'volumes' and as_of is not null
  ),
  -- whether there is a target for which the number is known
  assessable as (
    select
      exists (from assessed_targets('missing-external-volume', ['external_volumes', 'volumes'], $as_of)) as missing,
      exists (from assessed_targets('orphaned-external-volume', ['external_volumes', 'volumes'], $as_of)) as orphaned,
      exists (from assessed_targets('unprotected-volume', ['volume_snapshots', 'volumes'], $as_of)) as unprotected,
      exists (from assessed_targets('stale-snapshot', ['external_volumes', 'volume_snapshots', 'volumes'], $as_of)) as stale,
  ),
  -- what was never pulled, or what no plugin can list, has no number
  pulled as (
    select
      coalesce(bool_or(source = 'volumes'), false) as has_volumes,
      coalesce(bool_or(source = 'external_volumes'), false)
      and (select coalesce(bool_or(supported), true) from external_volume_listings_at($as_of)) as has_external,
      coalesce(bool_or(source = 'volume_snapshots'), false)
      and (select coalesce(bool_or(supported), true) from volume_snapshot_listings_at($as_of)) as has_snapshots,
    from source_state_at($as_of)
    where as_of is not null
  ),
  -- where something could not be listed, the number of what was found may be too low, and 0 says nothing
  unknown_parts as (from unknown_parts_at($as_of) where not is_unsupported),
  partial as (
    select
      count(*) filter (source in ('external_volumes', 'volume_snapshots', 'volumes')) as unknown_parts,
      count(*) filter (source = 'volumes') > 0 as volumes,
      count(*) filter (source = 'external_volumes') > 0 as external,
      count(*) filter (source = 'volume_snapshots') > 0 as snapshots,
    from unknown_parts
  ),
  selected as (
    select
      volumes.schedulable,
      volumes.controllers_healthy < volumes.controllers_expected
      or volumes.nodes_healthy < volumes.nodes_expected as unhealthy,
      coalesce(claims.is_lost, false) as lost_claim,
      volumes.schedulable is null
      or if(
        claims.volume_id is null,
        coalesce(volumes.current_readers > 0 or volumes.current_writers > 0, true),
        claims.is_lost is null
      ) as is_unreported,
      unknown.target is null as is_known,
    from volumes_at($as_of) as volumes
    left join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
      on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
    left join volume_claims($as_of) as claims
      on claims.target = volumes.target
      and claims.namespace is not distinct from volumes.namespace
      and claims.volume_id = volumes.volume_id
  ),
  protection as (select protection from volume_protection($as_of, $snapshot_days)),
  volume_counts as (
    select
      count(*) as volumes,
      count_known(not schedulable and is_known) as unschedulable,
      count_known(unhealthy and is_known) as unhealthy,
      count(*) filter (is_unreported and is_known) as not_reported,
      count(*) filter (lost_claim and is_known) as lost_claims,
      (select count(*) from missing_volumes($as_of)) as missing,
      (select count(*) filter (protection = 'unprotected') from protection) as unprotected,
      (select count(*) filter (protection = 'unknown') from protection) as protection_unknown,
    from selected
  ),
  orphaned as (select capacity_bytes from orphaned_volumes($as_of)),
  external_counts as (
    select
      count(*) as external_volumes,
      if(count(*) = 0, 0, sum(held.capacity_bytes)) as capacity_bytes,
      count_known(held.is_abnormal and held.is_known) as abnormal,
      count(*) filter (held.is_abnormal is null and held.is_known) as abnormal_unknown,
      (select count(*) from orphaned) as orphaned,
      (select if(count(*) = 0, 0, sum(capacity_bytes)) from orphaned) as orphaned_bytes,
    from (
      select external.*, unknown.target is null as is_known
      from external_volumes_at($as_of) as external
      left join (from unknown_parts_at($as_of) where source = 'external_volumes') as unknown
        on unknown.target = external.target and unknown.value is not distinct from external.plugin_id
    ) as held
  ),
  snapshot_counts as (
    select
      count(*) as snapshots,
      if(count(*) = 0, 0, sum(size_bytes)) as snapshot_bytes,
      count(*) filter ((old or is_volume_missing) and is_known) as stale_snapshots,
      if(stale_snapshots = 0, 0, sum(size_bytes) filter ((old or is_volume_missing) and is_known)) as stale_snapshot_bytes,
      count(*) filter (created_at is null and is_volume_missing is not true and is_known) as age_unknown,
      count(*) filter (is_unknown) as stale_unknown,
    from snapshot_staleness_at($as_of, $stale_snapshot_days)
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  before_counts as (
    select
      count(*) as volumes,
      count_known(not schedulable) as unschedulable,
      (select count(*) from external_volumes_before($as_of)) as external_volumes,
      (select count(*) from volume_snapshots_before($as_of)) as snapshots,
    from volumes_before($as_of)
  ),
  counted as (
    select
      volume_counts.* replace (
        if(partial.volumes, nullif(volume_counts.volumes, 0), volume_counts.volumes) as volumes,
        if(partial.volumes, nullif(volume_counts.unschedulable, 0), volume_counts.unschedulable) as unschedulable,
        if(partial.volumes, nullif(volume_counts.unhealthy, 0), volume_counts.unhealthy) as unhealthy,
        if(partial.volumes, nullif(volume_counts.lost_claims, 0), volume_counts.lost_claims) as lost_claims,
        case
          when not (assessable.missing and has_external) then null
          when partial.volumes or partial.external then nullif(volume_counts.missing, 0)
          else volume_counts.missing
        end as missing,
        case
          when not (assessable.unprotected and has_snapshots) then null
          when partial.volumes or partial.snapshots then nullif(volume_counts.unprotected, 0)
          else volume_counts.unprotected
        end as unprotected
      ),
      external_counts.* replace (
        if(partial.external, nullif(external_counts.external_volumes, 0), external_counts.external_volumes) as external_volumes,
        if(partial.external, nullif(external_counts.capacity_bytes, 0), external_counts.capacity_bytes) as capacity_bytes,
        if(partial.external, nullif(external_counts.abnormal, 0), external_counts.abnormal) as abnormal,
        case
          when not assessable.orphaned then null
          when partial.volumes or partial.external then nullif(external_counts.orphaned, 0)
          else external_counts.orphaned
        end as orphaned,
        case
          when not assessable.orphaned then null
          when partial.volumes or partial.external then nullif(external_counts.orphaned_bytes, 0)
          else external_counts.orphaned_bytes
        end as orphaned_bytes
      ),
      snapshot_counts.* replace (
        if(partial.snapshots, nullif(snapshot_counts.snapshots, 0), snapshot_counts.snapshots) as snapshots,
        if(partial.snapshots, nullif(snapshot_counts.snapshot_bytes, 0), snapshot_counts.snapshot_bytes) as snapshot_bytes,
        if(assessable.stale and partial.unknown_parts = 0, snapshot_counts.stale_snapshots, nullif(snapshot_counts.stale_snapshots, 0)) as stale_snapshots,
        if(assessable.stale and partial.unknown_parts = 0, snapshot_counts.stale_snapshot_bytes, nullif(snapshot_counts.stale_snapshot_bytes, 0)) as stale_snapshot_bytes
      ),
      partial.unknown_parts,
      case when comparable.yes and not partial.volumes then before_counts.volumes end as volumes_before,
      case when comparable.yes and not partial.volumes then before_counts.unschedulable end as unschedulable_before,
      case when comparable.yes and has_external and not partial.external then before_counts.external_volumes end as external_volumes_before,
      case when comparable.yes and has_snapshots and not partial.snapshots then before_counts.snapshots end as snapshots_before,
      not comparable.yes as baseline,
    from comparable
    cross join assessable
    cross join partial
    cross join pulled
    cross join before_counts
    left join volume_counts on has_volumes
    left join external_counts on has_external
    left join snapshot_counts on has_snapshots
  )
select
  *,
  concat_ws(
    ', ',
    format('{} {}', coalesce(format('{:,}', volumes), '?'), if(volumes = 1, 'volume', 'volumes')),
    -- what is 0 is not said; what is not known is
    if(volumes is null or unschedulable = 0, null, coalesce(format('{:,}', unschedulable), '?') || ' cannot be scheduled'),
    if(unprotected = 0, null, coalesce(format('{:,}', unprotected), '?') || ' unprotected'),
    if(volumes is null or lost_claims = 0, null, coalesce(format('{:,}', lost_claims), '?') || ' claimed only by finished allocations'),
    if(missing = 0, null, coalesce(format('{:,}', missing), '?') || ' missing in the provider'),
    if(orphaned = 0, null, coalesce(format('{:,}', orphaned), '?') || ' in the provider and not registered'),
    case unknown_parts when 0 then null when 1 then '1 part is not known' else format('{:,} parts are not known', unknown_parts) end
  ) as headline,
from counted;
