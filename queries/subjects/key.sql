-- grain: one row per version of a key
-- subject: key
-- title: Keys
-- table: keys
-- order: 6
select name as subject_id, name as subject_name, null::varchar as place, version.*
from keys_history as version
