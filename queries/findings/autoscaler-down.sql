-- rule: The autoscaler reports that it is not alive, or nothing listens at its address.
-- severity: critical
-- sources: autoscaler_health
-- subject: autoscaler
-- many: autoscalers are not alive
-- repair: restart the autoscaler, or ask who runs the scheduler
-- grain: one row per such autoscaler; unknown where it does not report it
select
  target,
  target as subject_id,
  target as subject_name,
  case when alive is null then 'it does not report whether it is alive' else format('Autoscaler {} is not alive', target) end as title,
  json_object('checked_at', iso_time(checked_at)) as detail,
  alive is null as unknown,
from autoscaler_health
where alive is not true
