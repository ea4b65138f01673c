-- grain: one row per version of a volume in a storage provider
-- subject: external volume
-- title: External volumes
-- table: external_volumes
-- order: 11
select concat_ws('/', plugin_id, external_id) as subject_id, external_id as subject_name, plugin_id as place, version.*
from external_volumes_history as version
