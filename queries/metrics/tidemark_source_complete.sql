-- help: Whether the last pull of a source was complete (1), or partial, failed or quarantined (0).
-- grain: one row per target and source
select target, source, (status = 'complete')::integer as value
from source_state
where status <> 'unsupported'
order by target, source;
