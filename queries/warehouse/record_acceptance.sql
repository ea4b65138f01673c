-- grain: one event for each finding that `accept_findings` has accepted
insert into finding_events by name
select
  finding_id,
  target,
  rule,
  $now::timestamptz as changed_at,
  state,
  severity,
  'accepted' as reason,
  format('{} until {}: {}', $owner, strftime($until::timestamptz, '%Y-%m-%d %H:%M UTC'), $reason) as note,
from findings
where list_contains($ids::varchar[], finding_id) and state = 'accepted'
order by finding_id;
