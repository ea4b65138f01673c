-- grain: one row per day of the last year until a time with a complete pull: of a source, or of any where it is null
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro pulled_nights(source_name, at_time) as table
select max(as_of) as pulled_at
from pulls
where
  coalesce(source = source_name, true)
  and status = 'complete'
  and as_of between at_time::timestamptz - interval 366 days and at_time::timestamptz
  and history_has(as_of)
group by date_trunc('day', as_of);
