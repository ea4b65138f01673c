-- grain: one row per product and cycle: what was known of its support at a time
-- defined: after the views
create or replace macro lifecycle_at(at_time) as table
select product, cycle, released_at, support_ends_at, ended, ends_with, latest, latest_at, data_as_of, origin
from lifecycle_facts
where known_at <= at_time::timestamptz
qualify row_number() over (partition by product, cycle order by known_at desc, data_as_of desc, origin = 'packaged') = 1;
