-- grain: one row per night of the last 90 days, and one per day of the next 30 where at least seven of the last 30 nights are known
-- title: Resources and projection
select as_of, resources, null::bigint as projected, null::bigint as at_least, null::bigint as at_most
from resource_nights($as_of)
where as_of > $as_of::timestamptz - interval 90 days
union all
select
  $as_of::timestamptz + to_days(day::integer),
  null,
  round(middle)::bigint,
  floor(greatest(middle - error, 0))::bigint,
  ceil(middle + error)::bigint,
from resource_projection($as_of)
order by as_of;
