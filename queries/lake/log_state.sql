-- grain: one row per row of a log now
-- parameters: $time
create or replace temp table lake_pending as
select $time::timestamptz as as_of, {{values}}, row_number() over (partition by {{key}} order by {{all}}) as occurrence
from {{stored}};
