-- Keeps of the pending changes those that the lake does not hold, and cancels what it holds besides.
create or replace temp table lake_pending as
select {{beganAll}}
from lake_pending as begun
left join lake_held as ended on ended.as_of = begun.as_of and {{same}}
where ended.op is null or row({{beganAll}}) is distinct from row({{endedAll}})
union all
select 'void' as op, ended.as_of, {{ended}}
from lake_held as ended
anti join lake_pending as begun on ended.as_of = begun.as_of and {{same}};
