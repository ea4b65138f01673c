-- grain: one row per registered volume at a time, with the protection by its snapshots: `protected` by a ready one of the last days, `unprotected` or `unknown`
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro volume_protection(at_time, snapshot_days) as table
select
  volumes.*,
  ready.last_at as last_snapshot_at,
  case
    when
      volumes.external_id is null
      or listing.supported is not true
      or unknown.target is not null
      or assessed.target is null
      then 'unknown'
    when ready.last_at >= at_time::timestamptz - to_seconds(snapshot_days::double * 86400) then 'protected'
    when ready.may_count then 'unknown'
    else 'unprotected'
  end as protection,
from volumes_at(at_time) as volumes
left join assessed_targets('unprotected-volume', ['volume_snapshots', 'volumes'], at_time) as assessed
  on assessed.target = volumes.target
left join volume_snapshot_listings_at(at_time) as listing
  on listing.target = volumes.target and listing.plugin_id = volumes.plugin_id
left join snapshot_protection_at(at_time, snapshot_days) as ready
  on ready.target = volumes.target
  and ready.plugin_id = volumes.plugin_id
  and ready.external_id = volumes.external_id
left join (from unknown_parts_at(at_time) where source = 'volumes') as unknown
  on unknown.target = volumes.target and unknown.value is not distinct from volumes.namespace;
