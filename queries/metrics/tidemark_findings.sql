-- help: Findings that are not resolved.
-- grain: one row per target, severity and state
select target, severity, state, count(*) as value
from findings
where state <> 'resolved'
group by target, severity, state
order by target, severity, state;
