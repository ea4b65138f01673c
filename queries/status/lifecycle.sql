-- grain: one row per origin of the facts about support that hold now; cycles: how many it tells, data_as_of: the day of the oldest
-- $now: the present; $lifecycle_days: days from which facts count as old
select
  origin,
  count(*) as cycles,
  min(data_as_of) as data_as_of,
  date_diff('day', min(data_as_of), $now::timestamptz::date) as days,
  min(data_as_of) < ($now::timestamptz - to_seconds($lifecycle_days::double * 86400))::date as stale,
from lifecycle_at($now)
group by origin
order by data_as_of, origin;
