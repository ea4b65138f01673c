-- grain: one row per rule that some target has all sources of, one of them of this run, or that reads none: the others are not assessed
-- (`assessments.sql`), and no finding depends on the rows that they would return
with
  loaded as (
    select list(source) as sources, list(source) filter (is_of_run) as of_run
    from evaluated_sources
    where status in ('complete', 'partial')
    group by target
  )
select rule
from evaluated_rules as rules
where
  len(rules.sources) = 0
  or exists (from loaded where list_has_all(loaded.sources, rules.sources) and list_has_any(loaded.of_run, rules.sources))
order by rule;
