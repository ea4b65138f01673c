-- grain: one row per row of a log that the lake does not hold as it is
-- {{loggedAt}}: when a row was written; {{reached}}: the rows that are compared; {{after}}, {{now}}: the last runs of the lake and of the warehouse
create or replace temp table lake_pending as
with
  held as (
    select {{fields}}, row({{fields}}) as lake_row
    from lake_log
    where {{reached}}
    qualify row_number() over (partition by {{identity}} order by as_of desc) = 1 and op <> 'delete'
  ),
  lake_stored as (
    select {{values}}, row_number() over (partition by {{key}} order by {{all}}) as occurrence, {{loggedAt}} as lake_logged_at
    from {{stored}}
    where {{reached}}
  ),
  begun as (
    select *, row({{fields}}) as lake_row
    from lake_stored
  )
select
  if(ended.occurrence is null, 'insert', 'update') as op,
  if(ended.occurrence is null, greatest(least(begun.lake_logged_at, {{now}}), {{after}}), {{now}}) as as_of,
  begun.* exclude (lake_row, lake_logged_at)
from begun
left join held as ended on {{same}}
where ended.occurrence is null or begun.lake_row is distinct from ended.lake_row
union all by name
select 'delete' as op, {{now}} as as_of, ended.* exclude (lake_row)
from held as ended
anti join begun on {{same}};
