-- grain: one row per target, with the sources whose last pull was loaded
select target, list(source) as sources
from source_state
where status in ('complete', 'partial')
group by target
order by target;
