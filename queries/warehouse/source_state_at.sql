-- grain: one row per target and source that was ever pulled, as known at a moment
-- status: of the last pull; as_of: of the last complete one; previous_as_of: of the complete one before it
create or replace macro source_state_at(moment) as table
with
  seen as (
    select target, source, status, error, as_of
    from pulls
    where as_of <= moment::timestamptz
  ),
  complete as (
    select
      target,
      source,
      as_of,
      row_number() over (partition by target, source order by as_of desc) as place,
    from (select distinct target, source, as_of from seen where status = 'complete')
  ),
  latest as (
    select
      target,
      source,
      arg_max(status, as_of) as status,
      arg_max(error, as_of) as error,
      max(as_of) as tried_at,
    from seen
    group by target, source
  )
select
  latest.target,
  latest.source,
  latest.status,
  latest.tried_at,
  case when latest.status <> 'complete' then latest.error end as error,
  one.as_of,
  two.as_of as previous_as_of,
from latest
left join complete as one on one.target = latest.target and one.source = latest.source and one.place = 1
left join complete as two on two.target = latest.target and two.source = latest.source and two.place = 2;
