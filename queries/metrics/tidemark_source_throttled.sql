-- help: Answers with status 429 in the last pull of a source.
-- grain: one row per target and source
select target, source, arg_max(throttled, as_of) as value
from pulls
group by target, source
order by target, source;
