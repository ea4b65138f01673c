-- grain: one row per target that this publish compares: from which time on, and since when a row that this warehouse never had is gone
-- {{source}}: the pulls that fill the relation; {{stored}}: the relation
-- A target that another writer has pulled is compared from the first pull of this one after it. Its rows that this warehouse never had are
-- gone when that pull, or a later one, is complete. Of a target that this one has never pulled, it says nothing.
-- {{since}}: for every other target; {{pulledAfter}}: the time of the last pull that the lake has
create or replace temp table lake_reach as
with
  known as (
    select target as lake_target
    from {{stored}}
    union
    select target as lake_target
    from lake_log
    where target in (select target from pulls)
  ),
  own as (
    select
      lake_target,
      min(as_of) as first_at,
      min(as_of) filter (status = 'complete') as complete_at
    from pulls
    join lake_foreign on lake_target = pulls.target
    where {{source}} and status in ('complete', 'partial') and as_of > {{pulledAfter}} and as_of > lake_until
    group by lake_target
  ),
  reach as (
    select
      lake_target,
      if(lake_until is null, {{since}}, first_at) as lake_from,
      if(lake_until is null, {{since}}, complete_at) as lake_complete
    from known
    left join lake_foreign using (lake_target)
    left join own using (lake_target)
  )
from reach
where lake_from is not null;
