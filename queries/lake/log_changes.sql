-- grain: one row per row of a log that the lake does not hold as it is
-- {{loggedAt}}: when a row was written; {{ends}}: whether a row can end, which what has happened never does: a warehouse that was restored lacks
-- that of targets that another shard has now; {{reached}}: the rows that are compared; {{after}}, {{now}}: the last runs of the lake and of the warehouse
create or replace temp table lake_pending as
with
  held as (
    select {{fields}}
    from lake_log
    -- a window would keep every column of every version
    where rowid in (select arg_max(rowid, as_of) from lake_log where {{reached}} group by {{identity}}) and op <> 'delete'
  ),
  begun as (
    select {{values}}, row_number() over (partition by {{key}} order by {{all}}) as occurrence, {{loggedAt}} as lake_logged_at
    from {{stored}}
    where {{reached}}
  )
select
  if(ended.occurrence is null, 'insert', 'update') as op,
  if(ended.occurrence is null, greatest(least(begun.lake_logged_at, {{now}}), {{after}}), {{now}}) as as_of,
  begun.* exclude (lake_logged_at)
from begun
left join held as ended on {{same}}
where ended.occurrence is null or {{differs}}
union all by name
select 'delete' as op, {{now}} as as_of, ended.*
from held as ended
anti join begun on {{same}}
where {{ends}};
