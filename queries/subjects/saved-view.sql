-- grain: one row per version of a saved view
-- subject: saved view
-- title: Saved views
-- table: saved_views
-- order: 5
select view_id as subject_id, name as subject_name, null::varchar as place, version.*
from saved_views_history as version
