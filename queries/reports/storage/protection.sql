-- grain: one row per storage plugin with registered volumes
-- title: Volumes by protection
-- sources: volume_snapshots, volumes
-- about: Protected is a volume with a ready snapshot within the allowed days. It is not known for a plugin that cannot list its snapshots, and where a snapshot lacks its time, its readiness or its plugin.
-- empty: No volume is registered.
-- labels: plugin_id=Plugin; protection=Volumes; volumes=In all
-- strips: protection=bar
-- legend: bad=unprotected; soft=not known; good=protected
-- hidden: unprotected, unknown
with
  judged as (
    select
      volumes.target,
      volumes.plugin_id,
      case
        when
          volumes.external_id is null
          or listing.supported is not true
          or unknown.target is not null
          or assessed.target is null
          then 'unknown'
        when ready.last_at >= $as_of::timestamptz - to_seconds($snapshot_days::double * 86400) then 'protected'
        when ready.may_count then 'unknown'
        else 'unprotected'
      end as protection,
    from volumes_at($as_of) as volumes
    left join assessed_targets('unprotected-volume', ['volume_snapshots', 'volumes'], $as_of) as assessed
      on assessed.target = volumes.target
    left join volume_snapshot_listings_at($as_of) as listing
      on listing.target = volumes.target and listing.plugin_id = volumes.plugin_id
    left join snapshot_protection_at($as_of, $snapshot_days) as ready
      on ready.target = volumes.target
      and ready.plugin_id = volumes.plugin_id
      and ready.external_id = volumes.external_id
    left join (from unknown_parts_at($as_of) where source = 'volumes') as unknown
      on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace
  )
select
  target,
  plugin_id,
  count(*) filter (protection = 'unprotected') as unprotected,
  count(*) filter (protection = 'unknown') as unknown,
  list_filter(
    [
      {'kind': 'bad', 'value': unprotected, 'text': unprotected || ' unprotected'},
      {'kind': 'soft', 'value': unknown, 'text': unknown || ' not known'},
      {
        'kind': 'good',
        'value': count(*) filter (protection = 'protected'),
        'text': count(*) filter (protection = 'protected') || ' protected'
      }
    ],
    lambda part: part.value > 0
  ) as protection,
  count(*) as volumes,
from judged
group by target, plugin_id
order by unprotected desc, unknown desc, volumes desc, plugin_id, target;
