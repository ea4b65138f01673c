-- grain: one row per key whose newest version is older than keyRotationDays
-- title: Overdue for rotation
-- sources: keys
-- empty: Every key of known age was rotated in time.
-- labels: name=Key; type=Type; overdue_days=Overdue (days); latest_version=Latest version
-- subjects: name=key
select
  target,
  name,
  type,
  rotated_at,
  date_diff('hour', rotated_at, $as_of::timestamptz) // 24 - $key_rotation_days::bigint as overdue_days,
  latest_version,
from rotated_keys($as_of)
where rotated_at < $as_of::timestamptz - to_seconds($key_rotation_days::double * 86400)
order by rotated_at, name, target;
