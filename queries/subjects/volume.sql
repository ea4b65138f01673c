-- grain: one row per version of a volume
-- subject: volume
-- title: Volumes
-- table: volumes
-- order: 10
select
  concat_ws('/', namespace, volume_id) as subject_id,
  coalesce(name, volume_id) as subject_name,
  namespace as place,
  version.*,
from volumes_history as version
