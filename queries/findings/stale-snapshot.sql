-- rule: A snapshot is older than `staleSnapshotDays`, or its volume is neither registered nor in the provider.
-- severity: info
-- sources: volume_snapshots, volumes, external_volumes
-- proves: complete listing of external_volumes
-- subject: snapshot
-- many: snapshots{of} are older than `staleSnapshotDays` or have lost their volume
-- repair: delete the snapshots
-- grain: one row per such snapshot; grouped by plugin; unknown where neither is reported, and for every snapshot of a plugin that no longer lists its snapshots
-- parameters: $as_of, $stale_snapshot_days
with
  assessed as (
    select
      snapshots.*,
      snapshots.created_at < $as_of::timestamptz - to_seconds($stale_snapshot_days * 86400) as old,
      case
        when exists (
          from volumes
          where
            volumes.target = snapshots.target
            and volumes.plugin_id = snapshots.plugin_id
            and volumes.external_id = snapshots.external_source_volume_id
        ) then false
        when exists (
          from external_volumes
          where
            external_volumes.target = snapshots.target
            and external_volumes.external_id = snapshots.external_source_volume_id
            and coalesce(starts_with(external_volumes.plugin_id, snapshots.plugin_id), true) -- a plugin ID may be a prefix
        ) then false
        when listings.supported and snapshots.external_source_volume_id is not null then true
      end as volume_gone,
    from volume_snapshots as snapshots
    left join external_volume_listings as listings
      on listings.target = snapshots.target and listings.plugin_id = snapshots.plugin_id
  )
select
  target,
  concat_ws('/', plugin_id, snapshot_id) as subject_id,
  snapshot_id as subject_name,
  case
    when is_ambiguous then format('snapshot {} may belong to {} or to a plugin whose ID begins with it', snapshot_id, plugin_id)
    when volume_gone then format('Snapshot {} is of volume {}, which is gone', snapshot_id, external_source_volume_id)
    when old then format('Snapshot {} was taken on {}', snapshot_id, strftime(created_at, '%Y-%m-%d'))
    when volume_gone is not null then 'its age is not reported'
    when old is not null then 'whether its volume exists is not reported'
    else 'neither its age nor whether its volume exists is reported'
  end as title,
  json_object(
    'plugin_id', plugin_id,
    'snapshot_id', snapshot_id,
    'external_id', external_source_volume_id,
    'created_at', iso_time(created_at),
    'size_bytes', size_bytes,
    'reason', case when volume_gone then 'volume gone' when old then 'old' end
  ) as detail,
  'plugin ' || plugin_id as group_key,
  coalesce(is_ambiguous, false) or not (coalesce(old, false) or coalesce(volume_gone, false)) as unknown,
from assessed
where (old or volume_gone) is not false
union all
select target, null, null, format('plugin {} does not list its snapshots', plugin_id), json_object('plugin_id', plugin_id), null, true
from unlisted_plugins('volume_snapshot')
