-- grain: one row per version of a snapshot
-- subject: snapshot
-- title: Snapshots
-- table: volume_snapshots
-- order: 12
select concat_ws('/', plugin_id, snapshot_id) as subject_id, snapshot_id as subject_name, plugin_id as place, version.*
from volume_snapshots_history as version
