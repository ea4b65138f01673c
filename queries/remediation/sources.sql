-- grain: one row per target and source that a rule reads, with the state after the last pulls. $sources, $targets
select target, source, status, tried_at, error, as_of
from source_state
where list_contains($sources::varchar[], source) and list_contains($targets::varchar[], target)
order by target, source;
