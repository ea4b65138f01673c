-- grain: one row per change of a relation that the lake holds
create or replace temp table lake_held as
select op, as_of, {{fields}}
from (
  select *, row_number() over (partition by {{identity}}, as_of order by publish desc) as lake_place
  from {{changes}}
  where publish in (select publish from {{runs}})
)
where lake_place = 1 and op <> 'void';
