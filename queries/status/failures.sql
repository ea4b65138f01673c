-- grain: one row per target and source whose last pull is not complete
-- error: why, or what it lacks; failure: the parts of an error of the service
select state.target, state.source, state.error, pulls.failure
from source_state as state
left join pulls on pulls.target = state.target and pulls.source = state.source and pulls.as_of = state.tried_at
where state.error is not null
order by state.target, state.source;
