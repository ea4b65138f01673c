-- help: Moment that the data of a source is valid from: its last complete pull.
-- grain: one row per target and source that was ever pulled completely
select target, source, epoch(complete_at) as value
from source_state
where complete_at is not null and status <> 'unsupported'
order by target, source;
