-- grain: one row per registered volume of a plugin, oldest first. $target, $plugin_id
select volume_id, namespace
from volumes
where target = $target and plugin_id = $plugin_id
order by create_index nulls last, namespace, volume_id
limit 5;
