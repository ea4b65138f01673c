-- help: Answers with status 429 in the last pull of a source.
-- grain: one row per target and source
select target, source, arg_max(throttled, as_of) as value
from pulls
semi join source_state using (target, source)
group by target, source
order by target, source;
