-- grain: one row per target with rows whose {{unique}} are the same, or whose key is missing, with one such key and the number of its rows
-- A missing key comes first, with all rows that have none.
with
  keys as (
    select {{names}}, {{keyMissing}} as is_missing, count(*) as times
    from stage_{{table}}
    group by {{unique}}
    having count(*) > 1 or {{keyMissing}}
  )
select * replace (if(is_missing, sum(times) over (partition by target, is_missing), times) as times)
from keys
qualify row_number() over (partition by target order by is_missing desc, {{names}}) = 1;
