-- grain: one row per version of an autoscaler
-- subject: autoscaler
-- title: Autoscalers
-- table: autoscaler_health
-- order: 16
select target as subject_id, target as subject_name, null::varchar as place, version.*
from autoscaler_health_history as version
