-- grain: one row per target, with the sources whose last pull was loaded, and those of them that are of this run
select
  target,
  list(source) as sources,
  coalesce(list(source) filter ((target, source) in (from run_sources)), []) as of_run,
from source_state
where status in ('complete', 'partial')
group by target
order by target;
