-- help: Requests that the last pull of a source repeated.
-- grain: one row per target and source
select target, source, arg_max(retries, as_of) as value
from pulls
semi join source_state using (target, source)
group by target, source
order by target, source;
