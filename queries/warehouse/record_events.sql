-- parameters: $as_of
insert into finding_events by name
select finding_id, target, rule, $as_of::timestamptz as changed_at, state, severity, change as reason
from transition
where change is not null
order by finding_id;
