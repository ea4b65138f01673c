-- grain: one row per snapshot that is too old, or whose volume no longer exists
-- title: Stale snapshots
-- sources: external_volumes, volume_snapshots, volumes
-- empty: No snapshot is stale.
-- labels: snapshot_id=Snapshot; plugin_id=Plugin; external_source_volume_id=Volume in the provider; age_days=Age (days); size_bytes=Size; reason=Why
-- subjects: snapshot_id=snapshot
with
  selected as (
    select
      taken.*,
      coalesce(taken.created_at < $as_of::timestamptz - to_seconds($stale_snapshot_days::double * 86400), false) as old,
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
    anti join (from unknown_parts_at($as_of) where source = 'volume_snapshots') as unknown
      on unknown.target = taken.target and unknown.value is not distinct from taken.plugin_id
    where taken.is_ambiguous is not true
  )
select
  target,
  snapshot_id,
  plugin_id,
  external_source_volume_id,
  created_at,
  date_diff('hour', created_at, $as_of::timestamptz) // 24 as age_days,
  size_bytes,
  case when is_volume_missing and old then 'old, and its volume no longer exists' when is_volume_missing then 'its volume no longer exists' else 'old' end as reason,
from selected
where old or is_volume_missing
order by created_at nulls first, snapshot_id, target, plugin_id;
