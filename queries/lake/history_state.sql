-- grain: one row per row of a history that was current at a time
-- parameters: $time
create or replace temp table lake_pending as
select $time::timestamptz as as_of, {{values}}
from {{stored}}
where valid_from <= $time::timestamptz and (valid_to is null or valid_to > $time::timestamptz);
