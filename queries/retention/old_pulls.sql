-- grain: one row per pull that goes
-- {{old}}: the result; parameters: $start
create or replace temp table {{old}} as
select rowid as old_row
from pulls
where as_of < $start::timestamptz;
