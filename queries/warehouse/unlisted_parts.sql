-- grain: one row per part of a source, of some sources, that the last pull could not list at a time
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro unlisted_parts(names, at_time) as table
select
  target,
  source,
  replace(part, '_id', '') as part,
  coalesce(value, '(none)') as name,
  reason,
from unknown_parts_at(at_time)
where list_contains(names, source);
