-- grain: one row per target and source that was ever pulled, as of a time
-- status: of the last pull; as_of: of the last complete one; previous_as_of: of the previous complete one
create or replace macro source_state_at(at_time) as table
with
  pulled as (
    select
      target,
      source,
      arg_max(status, as_of) as status,
      arg_max(error, as_of) as error,
      max(as_of) as tried_at,
      list_reverse_sort(list(distinct as_of) filter (where status = 'complete')) as complete,
    from pulls
    where as_of <= at_time::timestamptz
    group by target, source
  )
select
  target,
  source,
  status,
  tried_at,
  case when status <> 'complete' then error end as error,
  complete[1] as as_of,
  complete[2] as previous_as_of,
from pulled;
