-- help: Rows of the last complete pull of a source.
-- grain: one row per target and source that was ever pulled completely
select target, source, arg_max(rows, as_of) as value
from pulls
semi join source_state using (target, source)
where status in ('complete', 'partial') and rows is not null
group by target, source
order by target, source;
