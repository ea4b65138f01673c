-- help: Moment that the data of a source is valid from: its last complete pull.
-- grain: one row per target and source that was ever pulled completely
select target, source, epoch(as_of) as value
from source_state
where as_of is not null
order by target, source;
