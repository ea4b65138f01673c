-- grain: one row per source of an organization whose last pull is not complete
-- title: Stale sources
-- about: What these organizations look like now is not known.
-- empty: The last pull of every source is complete.
-- labels: organization=Organization; source=Source; status=Last pull; as_of=As of
select target as organization, source, status, as_of
from source_state
where status <> 'complete'
order by as_of, organization, source;
