-- grain: one row per version of an agent pool
-- subject: agent pool
-- title: Agent pools
-- table: agent_pools
-- order: 3
select pool_id as subject_id, name as subject_name, null::varchar as place, version.*
from agent_pools_history as version
