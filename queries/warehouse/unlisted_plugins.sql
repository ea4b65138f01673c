-- grain: one row per storage plugin whose `external_volume` or `volume_snapshot` (kind) rows were listed or asked for once, and are not listed now
-- {{scope}} as for semver_key.
-- A plugin is queried only while a registered volume names it; one that is no longer queried is treated like one that cannot list.
create or replace {{scope}}macro unlisted_plugins(kind) as table
select distinct target, plugin_id
from query_table(kind || '_listings_history')
anti join (from query_table(kind || '_listings') where supported) as listing using (target, plugin_id);
