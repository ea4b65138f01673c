-- rule: The autoscaler says that it is not alive.
-- severity: critical
-- sources: autoscaler_health
-- subject: autoscaler
-- grain: one row per such autoscaler; unknown where it says neither
select
  target,
  target as subject_id,
  target as subject_name,
  case when alive is null then 'it says neither' else format('Autoscaler {} is not alive', target) end as title,
  json_object('checked_at', iso_time(checked_at)) as detail,
  alive is null as unknown,
from autoscaler_health
where alive is not true
