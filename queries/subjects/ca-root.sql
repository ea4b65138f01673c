-- grain: one row per version of a CA root
-- subject: CA root
-- title: CA roots
-- table: ca_roots
-- order: 13
select root_id as subject_id, coalesce(name, root_id) as subject_name, trust_domain as place, version.*
from ca_roots_history as version
