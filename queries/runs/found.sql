-- grain: one row per finding that changed in the run
-- title: What was found
-- order: 4
-- empty: No finding changed.
-- parameters: $started_at
select events.severity, events.state, events.reason, events.target, events.rule, findings.title
from finding_events as events
left join findings using (finding_id)
where events.changed_at = $started_at::timestamptz and events.reason <> 'no longer new'
order by
  case events.severity when 'critical' then 1 when 'warning' then 2 else 3 end,
  events.state,
  events.target,
  events.rule,
  findings.title
limit 500;
