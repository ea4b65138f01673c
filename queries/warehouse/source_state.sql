-- grain: one row per target and source that was ever pulled, now
create or replace view source_state as
select *
from source_state_at('infinity'::timestamptz);
