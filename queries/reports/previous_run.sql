-- grain: at most one row: as_of of the run before the last one, as of $as_of
with
  seen as (select distinct as_of from pulls where as_of <= $as_of::timestamptz)
select as_of
from seen
order by as_of desc
limit 1 offset 1;
