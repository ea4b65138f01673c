-- grain: one row per storage plugin
-- title: Plugins
-- about: Bytes are those that the provider reports, and unknown where it reports none. For a plugin that cannot list, the numbers are unknown.
-- empty: No plugin is known.
-- labels: plugin_id=Plugin; lists_volumes=Lists volumes; lists_snapshots=Lists snapshots; external_volumes=In the provider; capacity_bytes=Capacity; snapshot_bytes=Size of snapshots
with
  plugins as (
    select target, plugin_id from volumes_at($as_of)
    union
    select target, plugin_id from external_volume_listings_at($as_of) where plugin_id <> '*'
    union
    select target, plugin_id from volume_snapshot_listings_at($as_of)
  ),
  registered as (select target, plugin_id, count(*) as volumes from volumes_at($as_of) group by all),
  held as (
    select target, plugin_id, count(*) as external_volumes, sum(capacity_bytes) as capacity_bytes
    from external_volumes_at($as_of)
    group by all
  ),
  taken as (
    select target, plugin_id, count(*) as snapshots, sum(size_bytes) as snapshot_bytes
    from volume_snapshots_at($as_of)
    group by all
  )
select
  plugins.target,
  plugins.plugin_id,
  coalesce(registered.volumes, if(known.target is null, null, 0)) as volumes,
  volume_list.supported as lists_volumes,
  case when volume_list.supported then coalesce(held.external_volumes, 0) end as external_volumes,
  case when volume_list.supported then if(held.external_volumes is null, 0, held.capacity_bytes) end as capacity_bytes,
  snapshot_list.supported as lists_snapshots,
  case when snapshot_list.supported then coalesce(taken.snapshots, 0) end as snapshots,
  case when snapshot_list.supported then if(taken.snapshots is null, 0, taken.snapshot_bytes) end as snapshot_bytes,
from plugins
left join (
  select target
  from source_state_at($as_of)
  where
    source = 'volumes'
    and as_of is not null
    and target not in (select target from unknown_parts_at($as_of) where source = 'volumes')
) as known using (target)
left join registered using (target, plugin_id)
left join held using (target, plugin_id)
left join taken using (target, plugin_id)
left join external_volume_listings_at($as_of) as volume_list using (target, plugin_id)
left join volume_snapshot_listings_at($as_of) as snapshot_list using (target, plugin_id)
order by held.capacity_bytes desc nulls last, plugins.plugin_id, plugins.target;
