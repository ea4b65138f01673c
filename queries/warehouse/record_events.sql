-- parameters: $as_of
-- That a finding is no longer new is no event for people; that its severity changed in the same run is one.
insert into finding_events by name
select
  finding_id,
  target,
  rule,
  $as_of::timestamptz as changed_at,
  state,
  severity,
  if(change = 'no longer new' and severity <> before.severity_before, 'severity changed', change) as reason,
  if(change = 'accepted', format('{} until {}: {}', accepted_owner, strftime(accepted_until, '%Y-%m-%d %H:%M UTC'), accepted_reason), null) as note,
from transition
left join (
  select finding_id, arg_max(severity, changed_at) as severity_before
  from finding_events
  semi join (from transition where change = 'no longer new') using (finding_id)
  group by finding_id
) as before using (finding_id)
where change is not null
order by finding_id;
