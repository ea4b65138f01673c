-- grain: one row per target, source and part that the last pull could not list, now
create or replace view unknown_parts as
select *
from unknown_parts_at('infinity'::timestamptz);
