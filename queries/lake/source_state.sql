-- grain: one row per target and source that was ever pulled and is not left out
-- status: of the last pull; as_of: of the last complete one. {{pulls}}: the pulls of the lake
with
  lake_last as (
    select
      target,
      source,
      status,
      error,
      as_of as tried_at,
      row_number() over (partition by target, source order by as_of desc) as lake_place
    from {{pulls}}
  ),
  lake_complete as (
    select target, source, max(as_of) as complete_at
    from {{pulls}}
    where status = 'complete'
    group by target, source
  )
select
  lake_last.target as target,
  lake_last.source as source,
  lake_last.status as status,
  lake_last.tried_at as tried_at,
  case when lake_last.status <> 'complete' then lake_last.error end as error,
  lake_complete.complete_at as as_of
from lake_last
left join lake_complete on lake_complete.target = lake_last.target and lake_complete.source = lake_last.source
where lake_last.lake_place = 1 and lake_last.status <> 'left-out'
