-- grain: one row per volume of a storage plugin that was registered at a time, by its ID in the provider
-- {{scope}}: empty, or `temp ` for one connection
-- last_at: of the newest ready snapshot
-- may_count: the volume, the time, the readiness or the plugin of a snapshot is not reported, or its time is in the future, and what is
-- reported does not rule out that it protects
-- defined: after the views, and where it is missing
create or replace {{scope}}macro snapshot_protection_at(at_time, snapshot_days) as table
with
  taken as (
    select
      target,
      plugin_id,
      external_source_volume_id as external_id,
      max(created_at) filter (is_ready and is_ambiguous is not true and created_at < at_time::timestamptz + interval 1 day) as last_at,
      bool_or(
        (external_source_volume_id is null or is_ready is null or is_ambiguous or coalesce(created_at >= at_time::timestamptz + interval 1 day, true))
        and is_ready is not false
        and coalesce(created_at >= at_time::timestamptz - to_seconds(snapshot_days::double * 86400), true)
      ) as may_count,
    from volume_snapshots_at(at_time)
    group by all
  )
select
  target,
  plugin_id,
  volumes.external_id,
  own.last_at,
  coalesce(own.may_count, false) or coalesce(unnamed.may_count, false) as may_count,
from (select distinct target, plugin_id, external_id from volumes_at(at_time)) as volumes
left join taken as own using (target, plugin_id, external_id)
left join (from taken where external_id is null) as unnamed using (target, plugin_id);
