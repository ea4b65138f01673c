-- rule: A volume has no ready snapshot within `snapshotDays`.
-- severity: warning
-- sources: volumes, volume_snapshots
-- subject: volume
-- grain: one row per such volume; grouped by plugin; unknown where its plugin cannot list snapshots, or one may count that tells too little
-- parameters: $as_of, $snapshot_days
with
  taken as (
    select
      target,
      plugin_id,
      external_source_volume_id as external_id,
      max(created_at) filter (where is_ready) as ready_at,
      -- not told when, or whether it is ready, and recent as far as told
      bool_or(
        (is_ready is null or created_at is null)
        and is_ready is not false
        and coalesce(created_at >= $as_of::timestamptz - to_seconds($snapshot_days * 86400), true)
      ) as may_count,
    from volume_snapshots
    group by target, plugin_id, external_source_volume_id
  ),
  judged as (
    select
      volumes.*,
      taken.ready_at,
      coalesce(listings.supported, false) and volumes.external_id is not null as listed,
      coalesce(taken.may_count, false) as may_count,
    from volumes
    left join volume_snapshot_listings as listings
      on listings.target = volumes.target and listings.plugin_id = volumes.plugin_id
    left join taken
      on taken.target = volumes.target
      and taken.plugin_id = volumes.plugin_id
      and taken.external_id = volumes.external_id
  )
select
  target,
  concat_ws('/', namespace, volume_id) as subject_id,
  coalesce(name, volume_id) as subject_name,
  case
    when not listed then format('plugin {} does not list its snapshots', coalesce(plugin_id, '?'))
    when may_count then 'a snapshot of it does not tell its time, or whether it is ready'
    else format(
      'Volume {} {}',
      concat_ws('/', namespace, coalesce(name, volume_id)),
      coalesce('was last snapshotted on ' || strftime(ready_at, '%Y-%m-%d'), 'has no ready snapshot')
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
from judged
where ready_at is null or ready_at < $as_of::timestamptz - to_seconds($snapshot_days * 86400)
