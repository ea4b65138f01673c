-- grain: one row: the pull from which on the history stays; null where everything does
-- Of each source with a complete pull since the horizon, the last three before it stay: the state at the horizon, the one before it, and one more if a run was interrupted.
-- parameters: $horizon
with
  complete as (
    select
      as_of,
      as_of > $horizon::timestamptz as is_recent,
      bool_or(as_of > $horizon::timestamptz) over (partition by target, source) as is_live,
      row_number() over (partition by target, source, as_of > $horizon::timestamptz order by as_of desc) as nth,
    from pulls
    where status = 'complete'
  )
select min(as_of) as start
from complete
where is_live and not is_recent and nth <= 3;
