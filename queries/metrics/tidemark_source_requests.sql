-- help: Requests of the last pull of a source, repeats included.
-- grain: one row per target and source
select target, source, arg_max(requests, as_of) as value
from pulls
group by target, source
order by target, source;
