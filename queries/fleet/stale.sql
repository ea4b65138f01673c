-- grain: one row per source of a target whose last pull is not complete
-- title: Stale sources
-- about: What a target in this list looks like now is not known.
-- empty: The last pull of every source is complete.
-- labels: target=Target; source=Source; status=Last pull; as_of=As of
select target, source, status, as_of
from source_state
where status not in ('complete', 'unsupported')
order by as_of, target, source;
