-- grain: one row per storage plugin with registered volumes
-- title: Volumes by protection
-- sources: volume_snapshots, volumes
-- about: Protected is a volume with a ready snapshot within the allowed days. It is not known for a plugin that cannot list its snapshots, and where a snapshot lacks its volume, its time, its readiness or its plugin.
-- empty: No volume is registered.
-- labels: plugin_id=Plugin; protection=Volumes; volumes=In all
-- strips: protection=bar
-- legend: bad=unprotected; soft=not known; good=protected
-- hidden: unprotected, unknown
select
  target,
  plugin_id,
  count(*) filter (judged.protection = 'unprotected') as unprotected,
  count(*) filter (judged.protection = 'unknown') as unknown,
  list_filter(
    [
      {'kind': 'bad', 'value': unprotected, 'text': format('{:,} unprotected', unprotected)},
      {'kind': 'soft', 'value': unknown, 'text': format('{:,} not known', unknown)},
      {
        'kind': 'good',
        'value': count(*) filter (judged.protection = 'protected'),
        'text': format('{:,} protected', count(*) filter (judged.protection = 'protected'))
      }
    ],
    lambda part: part.value > 0
  ) as protection,
  count(*) as volumes,
from volume_protection($as_of, $snapshot_days) as judged
group by target, plugin_id
order by unprotected desc, unknown desc, volumes desc, plugin_id, target;
