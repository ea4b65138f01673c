-- grain: one row per target and source that was ever pulled and is not left out
-- status: of the last pull; as_of: of the last one that was loaded, complete or partial; complete_at: of the last complete one
-- {{pulls}}: the pulls of the lake
with
  lake_last as (
    select
      target,
      source,
      status,
      error,
      note,
      as_of as tried_at,
      row_number() over (partition by target, source order by as_of desc) as lake_place
    from {{pulls}}
  ),
  lake_loaded as (
    select target, source, max(as_of) as loaded_at, max(case when status = 'complete' then as_of end) as complete_at
    from {{pulls}}
    where status in ('complete', 'partial')
    group by target, source
  )
select
  lake_last.target as target,
  lake_last.source as source,
  lake_last.status as status,
  lake_last.tried_at as tried_at,
  case lake_last.status when 'complete' then null when 'partial' then lake_last.note else lake_last.error end as error,
  lake_loaded.loaded_at as as_of,
  lake_loaded.complete_at as complete_at
from lake_last
left join lake_loaded on lake_loaded.target = lake_last.target and lake_loaded.source = lake_last.source
where lake_last.lake_place = 1 and lake_last.status <> 'left-out'
