-- The value of a time of what has happened. Services write one that they do not know as that of the year 1 or 1970, and none of them is older
-- than the year 2000. More ahead than clocks are, it cannot have happened; `--now` may set a pull back, and not its service: the clock counts too.
if(
  {{column}}::timestamptz
    between timestamptz '2000-01-01 00:00:00+00'
    and greatest($as_of::timestamptz, now()) + interval '7 days',
  {{column}}::timestamptz,
  null
)
