-- grain: one row
-- title: Storage
-- order: 6
-- rules: volume-unschedulable, lost-volume-claim, missing-external-volume, orphaned-external-volume, unprotected-volume, stale-snapshot, abnormal-external-volume
-- unknown: protection_unknown, not_reported, abnormal_unknown, unknown_parts
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
  claims as (
    select
      target,
      namespace,
      volume_id,
      bool_and(client_status is null or client_status in ('complete', 'failed', 'lost')) as may_have_ended,
      bool_or(client_status is null) as has_unreported,
    from volume_allocations_at($as_of)
    group by target, namespace, volume_id
  ),
  selected as (
    select
      volumes.schedulable,
      volumes.controllers_healthy < volumes.controllers_expected
      or volumes.nodes_healthy < volumes.nodes_expected as unhealthy,
      coalesce(claims.may_have_ended and not claims.has_unreported, false) as lost_claim,
      volumes.schedulable is null
      or if(
        claims.volume_id is null,
        volumes.current_readers > 0 or volumes.current_writers > 0,
        claims.may_have_ended and claims.has_unreported
      ) as is_unreported,
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
      )
      and (
        ready.may_count is not true
        or coalesce(ready.last_at >= $as_of::timestamptz - to_seconds($snapshot_days::double * 86400), false)
      ) as can_protect,
      ready.last_at,
      unknown.target is null as is_known,
    from volumes_at($as_of) as volumes
    left join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
      on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
    left join claims
      on claims.target = volumes.target
      and claims.namespace is not distinct from volumes.namespace
      and claims.volume_id = volumes.volume_id
    left join external_volume_listings_at($as_of) as volume_list
      on volume_list.target = volumes.target and volume_list.plugin_id = volumes.plugin_id
    left join volume_snapshot_listings_at($as_of) as snapshot_list
      on snapshot_list.target = volumes.target and snapshot_list.plugin_id = volumes.plugin_id
    left join snapshot_protection_at($as_of, $snapshot_days) as ready
      on ready.target = volumes.target
      and ready.plugin_id = volumes.plugin_id
      and ready.external_id = volumes.external_id
  ),
  volume_counts as (
    select
      count(*) as volumes,
      count(*) filter (not schedulable and is_known) as unschedulable,
      count(*) filter (unhealthy and is_known) as unhealthy,
      count(*) filter (is_unreported and is_known) as not_reported,
      count(*) filter (lost_claim and is_known) as lost_claims,
      count(*) filter (can_miss and not is_held and unclaimed and is_known) as missing,
      count(*) filter (
        can_protect
        and is_known
        and (last_at is null or last_at < $as_of::timestamptz - to_seconds($snapshot_days::double * 86400))
      ) as unprotected,
      count(*) filter (not (can_protect and is_known)) as protection_unknown,
    from selected
  ),
  external_counts as (
    select
      count(*) as external_volumes,
      if(count(*) = 0, 0, sum(held.capacity_bytes)) as capacity_bytes,
      count(*) filter (held.is_abnormal and held.is_known) as abnormal,
      count(*) filter (held.is_abnormal is null and held.is_known) as abnormal_unknown,
      count(*) filter (is_orphaned) as orphaned,
      if(orphaned = 0, 0, sum(held.capacity_bytes) filter (is_orphaned)) as orphaned_bytes,
    from (
      select
        external.*,
        unknown.target is null as is_known,
        is_ambiguous is not true
        and unknown.target is null
        and external.target not in (select target from unknown_parts_at($as_of) where source = 'volumes')
        and external.target in (
          from assessed_targets('orphaned-external-volume', ['external_volumes', 'volumes'], $as_of)
        )
        and not exists (
          from volumes_at($as_of) as volumes
          where
            volumes.target = external.target
            and volumes.external_id = external.external_id
            and coalesce(starts_with(external.plugin_id, volumes.plugin_id), true)
        )
        and not exists (
          from volumes_at($as_of) as unreported
          where
            unreported.target = external.target
            and unreported.external_id is null
            and coalesce(starts_with(external.plugin_id, unreported.plugin_id), true)
        ) as is_orphaned,
      from external_volumes_at($as_of) as external
      left join (from unknown_parts_at($as_of) where source = 'external_volumes') as unknown
        on unknown.target = external.target and unknown.value is not distinct from external.plugin_id
    ) as held
  ),
  snapshots as (
    select
      taken.size_bytes,
      unknown.target is null and taken.is_ambiguous is not true as is_known,
      taken.created_at < $as_of::timestamptz - to_seconds($stale_snapshot_days::double * 86400) as old,
      coalesce(listing.supported, false)
      and assessed.target is not null
      and hidden.target is null
      and taken.external_source_volume_id is not null
      and registered.external_id is null
      and not exists (
        from external_volumes_at($as_of) as held
        where
          held.target = taken.target
          and held.external_id = taken.external_source_volume_id
          and coalesce(starts_with(held.plugin_id, taken.plugin_id), true)
      ) as is_volume_missing,
    from volume_snapshots_at($as_of) as taken
    left join (select distinct target, plugin_id, external_id from volumes_at($as_of)) as registered
      on registered.target = taken.target
      and registered.plugin_id = taken.plugin_id
      and registered.external_id = taken.external_source_volume_id
    left join external_volume_listings_at($as_of) as listing
      on listing.target = taken.target and listing.plugin_id = taken.plugin_id
    left join assessed_targets('stale-snapshot', ['external_volumes', 'volume_snapshots', 'volumes'], $as_of) as assessed
      on assessed.target = taken.target
    -- a volume of a namespace that could not be read may be registered
    left join (select distinct target from unknown_parts_at($as_of) where source = 'volumes') as hidden
      on hidden.target = taken.target
    left join (from unknown_parts_at($as_of) where source = 'volume_snapshots') as unknown
      on unknown.target = taken.target and unknown.value is not distinct from taken.plugin_id
  ),
  snapshot_counts as (
    select
      count(*) as snapshots,
      if(count(*) = 0, 0, sum(size_bytes)) as snapshot_bytes,
      count(*) filter ((old or is_volume_missing) and is_known) as stale_snapshots,
      if(stale_snapshots = 0, 0, sum(size_bytes) filter ((old or is_volume_missing) and is_known)) as stale_snapshot_bytes,
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
        if(partial.volumes, nullif(volume_counts.volumes, 0), volume_counts.volumes) as volumes,
        if(partial.volumes, nullif(volume_counts.unschedulable, 0), volume_counts.unschedulable) as unschedulable,
        if(partial.volumes, nullif(volume_counts.unhealthy, 0), volume_counts.unhealthy) as unhealthy,
        if(partial.volumes, nullif(volume_counts.lost_claims, 0), volume_counts.lost_claims) as lost_claims,
        case
          when not assessable.missing then null
          when partial.volumes or partial.external then nullif(volume_counts.missing, 0)
          else volume_counts.missing
        end as missing,
        case
          when not assessable.unprotected then null
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
        if(partial.unknown_parts > 0, nullif(snapshot_counts.stale_snapshots, 0), snapshot_counts.stale_snapshots) as stale_snapshots,
        if(partial.unknown_parts > 0, nullif(snapshot_counts.stale_snapshot_bytes, 0), snapshot_counts.stale_snapshot_bytes) as stale_snapshot_bytes
      ),
      partial.unknown_parts,
      case when comparable.yes and not partial.volumes then before_counts.volumes end as volumes_before,
      case when comparable.yes and not partial.volumes then before_counts.unschedulable end as unschedulable_before,
      case when comparable.yes and not partial.external then before_counts.external_volumes end as external_volumes_before,
      case when comparable.yes and not partial.snapshots then before_counts.snapshots end as snapshots_before,
      not comparable.yes as baseline,
    from volume_counts, external_counts, snapshot_counts, before_counts, comparable, assessable, partial
  )
select
  *,
  concat_ws(
    ', ',
    format('{} {}', coalesce(volumes::varchar, '?'), if(volumes = 1, 'volume', 'volumes')),
    -- what is 0 is not said; what is not known is
    if(unschedulable = 0, null, coalesce(unschedulable::varchar, '?') || ' cannot be scheduled'),
    if(unprotected = 0, null, coalesce(unprotected::varchar, '?') || ' unprotected'),
    if(lost_claims = 0, null, coalesce(lost_claims::varchar, '?') || ' claimed only by finished allocations'),
    if(missing = 0, null, coalesce(missing::varchar, '?') || ' missing in the provider'),
    if(orphaned = 0, null, coalesce(orphaned::varchar, '?') || ' in the provider and not registered'),
    case unknown_parts when 0 then null when 1 then '1 part is not known' else format('{} parts are not known', unknown_parts) end
  ) as headline,
from counted;
