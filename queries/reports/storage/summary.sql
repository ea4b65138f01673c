-- grain: one row
-- title: Storage
-- order: 6
-- rules: volume-unschedulable, lost-volume-claim, missing-external-volume, orphaned-external-volume, unprotected-volume, stale-snapshot, abnormal-external-volume
-- unknown: protection_unknown
-- sources: external_volumes, volume_snapshots, volumes
-- about: Volumes of the scheduler compared with their storage providers: volumes that cannot be scheduled, are claimed only by finished allocations, are missing, orphaned or unprotected, and stale snapshots. What a plugin cannot list is unknown and not counted.
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
  ),
  claims as (
    select
      target,
      namespace,
      volume_id,
      bool_and(client_status in ('complete', 'failed', 'lost')) as ended,
    from volume_allocations_at($as_of)
    group by target, namespace, volume_id
  ),
  ready as (
    select target, plugin_id, external_source_volume_id as external_id, max(created_at) as last_at
    from volume_snapshots_at($as_of)
    where is_ready
    group by all
  ),
  selected as (
    select
      volumes.schedulable,
      volumes.controllers_healthy < volumes.controllers_expected
      or volumes.nodes_healthy < volumes.nodes_expected as unhealthy,
      coalesce(claims.ended, false) as lost_claim,
      coalesce(volume_list.supported, false)
      and volumes.external_id is not null
      and volumes.target in (
        from assessed_targets('missing-external-volume', ['external_volumes', 'volumes'], $as_of)
      ) as can_miss,
      exists (
        from external_volumes_at($as_of) as held
        where
          held.target = volumes.target
          and held.external_id = volumes.external_id
          and coalesce(starts_with(held.plugin_id, volumes.plugin_id), true)
      ) as is_held,
      claims.volume_id is null
      and coalesce(volumes.current_readers, 0) = 0
      and coalesce(volumes.current_writers, 0) = 0 as unclaimed,
      coalesce(snapshot_list.supported, false)
      and volumes.external_id is not null
      and volumes.target in (
        from assessed_targets('unprotected-volume', ['volume_snapshots', 'volumes'], $as_of)
      ) as can_protect,
      ready.last_at,
    from volumes_at($as_of) as volumes
    left join claims
      on claims.target = volumes.target
      and claims.namespace is not distinct from volumes.namespace
      and claims.volume_id = volumes.volume_id
    left join external_volume_listings_at($as_of) as volume_list
      on volume_list.target = volumes.target and volume_list.plugin_id = volumes.plugin_id
    left join volume_snapshot_listings_at($as_of) as snapshot_list
      on snapshot_list.target = volumes.target and snapshot_list.plugin_id = volumes.plugin_id
    left join ready
      on ready.target = volumes.target
      and ready.plugin_id = volumes.plugin_id
      and ready.external_id = volumes.external_id
  ),
  volume_counts as (
    select
      count(*) as volumes,
      count(*) filter (not schedulable) as unschedulable,
      count(*) filter (unhealthy) as unhealthy,
      count(*) filter (lost_claim) as lost_claims,
      count(*) filter (can_miss and not is_held and unclaimed) as missing,
      count(*) filter (
        can_protect
        and (last_at is null or last_at < $as_of::timestamptz - to_seconds($snapshot_days::double * 86400))
      ) as unprotected,
      count(*) filter (not can_protect) as protection_unknown,
    from selected
  ),
  external_counts as (
    select
      count(*) as external_volumes,
      coalesce(sum(held.capacity_bytes), 0) as capacity_bytes,
      count(*) filter (held.is_abnormal) as abnormal,
      count(*) filter (is_orphaned) as orphaned,
      coalesce(sum(held.capacity_bytes) filter (is_orphaned), 0) as orphaned_bytes,
    from (
      select
        *,
        is_ambiguous is not true
        and target in (
          from assessed_targets('orphaned-external-volume', ['external_volumes', 'volumes'], $as_of)
        )
        and not exists (
          from volumes_at($as_of) as volumes
          where
            volumes.target = external.target
            and volumes.external_id = external.external_id
            and coalesce(starts_with(external.plugin_id, volumes.plugin_id), true)
        ) as is_orphaned,
      from external_volumes_at($as_of) as external
    ) as held
  ),
  snapshots as (
    select
      taken.size_bytes,
      taken.created_at < $as_of::timestamptz - to_seconds($stale_snapshot_days::double * 86400) as old,
      coalesce(listing.supported, false)
      and assessed.target is not null
      and taken.external_source_volume_id is not null
      and registered.external_id is null
      and held.external_id is null as is_volume_missing,
    from volume_snapshots_at($as_of) as taken
    left join (select distinct target, plugin_id, external_id from volumes_at($as_of)) as registered
      on registered.target = taken.target
      and registered.plugin_id = taken.plugin_id
      and registered.external_id = taken.external_source_volume_id
    left join external_volumes_at($as_of) as held
      on held.target = taken.target
      and held.plugin_id = taken.plugin_id
      and held.external_id = taken.external_source_volume_id
    left join external_volume_listings_at($as_of) as listing
      on listing.target = taken.target and listing.plugin_id = taken.plugin_id
    left join assessed_targets('stale-snapshot', ['external_volumes', 'volume_snapshots', 'volumes'], $as_of) as assessed
      on assessed.target = taken.target
  ),
  snapshot_counts as (
    select
      count(*) as snapshots,
      coalesce(sum(size_bytes), 0) as snapshot_bytes,
      count(*) filter (old or is_volume_missing) as stale_snapshots,
      coalesce(sum(size_bytes) filter (old or is_volume_missing), 0) as stale_snapshot_bytes,
    from snapshots
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  before_counts as (
    select
      count(*) as volumes,
      count(*) filter (not schedulable) as unschedulable,
      (select count(*) from external_volumes_before($as_of)) as external_volumes,
      (select count(*) from volume_snapshots_before($as_of)) as snapshots,
    from volumes_before($as_of)
  ),
  counted as (
    select
      volume_counts.* replace (
        if(assessable.missing, volume_counts.missing, null) as missing,
        if(assessable.unprotected, volume_counts.unprotected, null) as unprotected
      ),
      external_counts.* replace (
        if(assessable.orphaned, external_counts.orphaned, null) as orphaned,
        if(assessable.orphaned, external_counts.orphaned_bytes, null) as orphaned_bytes
      ),
      snapshot_counts.*,
      case when comparable.yes then before_counts.volumes end as volumes_before,
      case when comparable.yes then before_counts.unschedulable end as unschedulable_before,
      case when comparable.yes then before_counts.external_volumes end as external_volumes_before,
      case when comparable.yes then before_counts.snapshots end as snapshots_before,
      not comparable.yes as baseline,
    from volume_counts, external_counts, snapshot_counts, before_counts, comparable, assessable
  )
select
  *,
  format(
    '{} of {} volumes unschedulable, {} claimed only by finished allocations, {} missing, {} orphaned, {} unprotected',
    unschedulable,
    volumes,
    lost_claims,
    coalesce(missing::varchar, '?'),
    coalesce(orphaned::varchar, '?'),
    coalesce(unprotected::varchar, '?')
  ) as headline,
from counted;
