-- grain: at most one row: when the run before the last one was, seen from $as_of
with
  seen as (select distinct as_of from pulls where as_of <= $as_of::timestamptz)
select as_of as moment
from seen
order by as_of desc
limit 1 offset 1;
