-- help: Seconds that the last pull of a source waited for limits and back-off.
-- grain: one row per target and source
select target, source, arg_max(throttle_wait_ms / 1000, as_of) as value
from pulls
semi join source_state using (target, source)
group by target, source
order by target, source;
