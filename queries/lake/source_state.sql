-- grain: one row per target and source that was ever pulled and is not left out
-- status: of the last pull; as_of: of the last complete one. {{pulls}}: the pulls of the lake
with
  lake_ordered as (
    select
      target,
      source,
      status,
      error,
      as_of as tried_at,
      max(case when status = 'complete' then as_of end) over (partition by target, source) as as_of,
      row_number() over (partition by target, source order by as_of desc) as lake_place
    from {{pulls}}
  )
select target, source, status, tried_at, case when status <> 'complete' then error end as error, as_of
from lake_ordered
where lake_place = 1 and status <> 'left-out'
