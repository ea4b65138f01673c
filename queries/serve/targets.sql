-- grain: one row per target of the configuration, $targets, or of the warehouse, with the worst state of its sources
-- {{sources}}: sources.sql. state: unknown where nothing was pulled: what is not known to be fresh is not fresh
with sources as ({{sources}})
select
  target,
  case
    when count(source) = 0 or bool_or(state = 'unknown') then 'unknown'
    when bool_or(state = 'stale') then 'stale'
    else 'fresh'
  end as state,
  max(age_ms) as age_ms,
  count(*) filter (state = 'fresh') as fresh,
  count(source) as sources,
from (select unnest($targets::json::varchar[]) as target)
full join sources using (target)
group by target
order by target
