-- grain: one row per target and source of $sources whose last pull was not loaded, as a text
select concat(target, ': ', source, ' is ', status) as gap
from source_state
where
  list_contains($sources::varchar[], source)
  and list_contains($targets::varchar[], target)
  and status not in ('complete', 'partial')
order by target, source;
