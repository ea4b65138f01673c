-- grain: one row per version of a token
-- subject: token
-- title: Tokens
-- table: tokens
-- order: 15
select target as subject_id, coalesce(name, accessor_id, target) as subject_name, null::varchar as place, version.*
from tokens_history as version
