-- grain: one row per version of an agent
-- subject: agent
-- title: Agents
-- table: agents
-- order: 4
select agent_id as subject_id, coalesce(name, agent_id) as subject_name, pool_id as place, version.*
from agents_history as version
