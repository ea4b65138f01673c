-- grain: one row per day of the 30 after a time: the resources under management, if the last 30 nights continue as a line; none where fewer than seven are known
-- {{scope}}: empty, or `temp ` for one connection; points: nights of the line; the true number is within `error` in 19 of 20 cases, if nothing else changes
-- The line needs nights: fewer than seven may show a single event instead of a trend.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro resource_projection(at_time) as table
with
  line as (
    select
      regr_count(resources, day) as points,
      regr_slope(resources, day) as slope,
      regr_intercept(resources, day) as intercept,
      regr_avgx(resources, day) as mean_day,
      regr_sxx(resources, day) as sxx,
      sqrt(greatest(regr_syy(resources, day) - slope * regr_sxy(resources, day), 0) / (points - 2)) as deviation,
    from (
      select resources, epoch(as_of - at_time::timestamptz) / 86400 as day
      from resource_nights(at_time)
      where as_of > at_time::timestamptz - interval 30 days
    ) as last_nights
    having points >= 7
  )
select
  day,
  points,
  greatest(intercept + slope * day, 0) as middle,
  2 * deviation * sqrt(1 + 1.0 / points + power(day - mean_day, 2) / nullif(sxx, 0)) as error,
from line, range(1, 31) as days(day);
