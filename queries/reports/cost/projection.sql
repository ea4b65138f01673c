-- grain: one row per night of the last 90 days, and one per day of the next 30 where at least seven of the last 30 nights are known
-- title: Resources and projection
with
  nights as (
    select as_of, resources, epoch(as_of - $as_of::timestamptz) / 86400 as day
    from resource_nights($as_of)
    where as_of > $as_of::timestamptz - interval 90 days
  ),
  line as (
    select
      regr_count(resources, day) as points,
      regr_slope(resources, day) as slope,
      regr_intercept(resources, day) as intercept,
      regr_avgx(resources, day) as mean_day,
      regr_sxx(resources, day) as sxx,
      sqrt(greatest(regr_syy(resources, day) - slope * regr_sxy(resources, day), 0) / (points - 2)) as deviation,
    from nights
    where day > -30
    having points >= 7
  ),
  days as (select unnest(range(1, 31)) as day),
  projected as (
    select
      $as_of::timestamptz + to_days(day::integer) as as_of,
      greatest(intercept + slope * day, 0) as middle,
      2 * deviation * sqrt(1 + 1.0 / points + power(day - mean_day, 2) / nullif(sxx, 0)) as error,
    from days, line
  )
select as_of, resources, null::bigint as projected, null::bigint as at_least, null::bigint as at_most
from nights
union all
select as_of, null, round(middle)::bigint, floor(greatest(middle - error, 0))::bigint, ceil(middle + error)::bigint
from projected
order by as_of;
