-- rule: A volume has no ready snapshot within `snapshotDays`.
-- severity: warning
-- sources: volumes, volume_snapshots
-- proves: complete listing of volume_snapshots
-- needs: namespace, volume_id, plugin_id, external_id, external_source_volume_id, created_at, is_ready, is_ambiguous
-- subject: volume
-- many: volumes{of} have had no snapshot for `snapshotDays`
-- repair: take a snapshot of each
-- grain: one row per such volume; grouped by plugin; unknown where its plugin does not list snapshots, or a snapshot may count whose fields are missing
-- parameters: $as_of, $snapshot_days
with
  assessed as (
    select
      volumes.*,
      latest.last_at as ready_at,
      coalesce(listings.supported, false) and volumes.external_id is not null as listed,
      coalesce(latest.may_count, false) as may_count,
    from volumes
    left join volume_snapshot_listings as listings
      on listings.target = volumes.target and listings.plugin_id = volumes.plugin_id
    left join snapshot_protection_at($as_of, $snapshot_days) as latest
      on latest.target = volumes.target
      and latest.plugin_id = volumes.plugin_id
      and latest.external_id = volumes.external_id
  )
select
  target,
  concat_ws('/', namespace, volume_id) as subject_id,
  coalesce(name, volume_id) as subject_name,
  case
    when not listed then format('plugin {} does not list its snapshots', coalesce(plugin_id, '?'))
    when may_count then 'a snapshot that may be of it reports no volume, no time or one in the future, no readiness or no plugin'
    else format(
      'Volume {} {}',
      concat_ws('/', namespace, coalesce(name, volume_id)),
      coalesce('has had no ready snapshot since ' || strftime(ready_at, '%Y-%m-%d'), 'has no ready snapshot')
    )
  end as title,
  json_object(
    'volume_id', volume_id,
    'namespace', namespace,
    'plugin_id', plugin_id,
    'external_id', external_id,
    'last_snapshot_at', iso_time(ready_at)
  ) as detail,
  'plugin ' || plugin_id as group_key,
  not listed or may_count as unknown,
from assessed
where ready_at is null or ready_at < $as_of::timestamptz - to_seconds($snapshot_days * 86400)
