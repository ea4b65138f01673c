-- grain: one row per row of a log that the lake does not hold as it is
-- {{loggedAt}}: when a row was written; {{reached}}: the rows that are compared; {{after}}, {{now}}: the last runs of the lake and of the warehouse
create or replace temp table lake_pending as
with
  held as (
    from lake_log
    where {{reached}}
    qualify row_number() over (partition by {{identity}} order by as_of desc) = 1 and op <> 'delete'
  ),
  begun as (
    select {{values}}, row_number() over (partition by {{key}} order by {{all}}) as occurrence, {{loggedAt}} as lake_logged_at
    from {{stored}}
    where {{reached}}
  )
select
  if(ended.occurrence is null, 'insert', 'update') as op,
  if(ended.occurrence is null, greatest(least(begun.lake_logged_at, {{now}}), {{after}}), {{now}}) as as_of,
  {{begun}}
from begun
left join held as ended on {{same}}
where ended.occurrence is null or row({{begun}}) is distinct from row({{ended}})
union all
select 'delete' as op, {{now}} as as_of, {{ended}}
from held as ended
anti join begun on {{same}};
