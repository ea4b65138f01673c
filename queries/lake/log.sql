-- grain: one row per change that the lake holds, of the rows that this publish compares
-- {{owned}}: which rows those are; {{writer}}: this writer
create or replace temp table lake_log as
select op, as_of, lake_is_own, {{fields}}
from (
  select
    *,
    publish % 1024 = {{writer}} as lake_is_own,
    row_number() over (partition by {{identity}}, as_of order by publish desc) as lake_place
  from lake_changes
  where publish in (select publish from lake_runs) and {{owned}}
)
where lake_place = 1 and op <> 'void';
