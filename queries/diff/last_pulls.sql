-- grain: one row per time of a pull with a complete source, the newest first, two at most
-- parameters: $to: times later than this do not count
select distinct as_of
from pulls
where status = 'complete' and as_of <= $to::timestamptz
order by as_of desc
limit 2;
