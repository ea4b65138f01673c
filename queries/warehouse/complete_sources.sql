-- grain: one row per target, with the sources whose last pull was complete
select target, list(source) as sources
from source_state
where status = 'complete'
group by target
order by target;
