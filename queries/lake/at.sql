-- The rows of a relation as of a time.
-- {{changes}}, {{runs}}: tables of the lake; {{present}}: the time; {{identity}}: what identifies a row;
-- {{fields}}: what the row has; {{columns}}: the same as the result names it
-- A row counts once its publish is in {{runs}}. Of two rows with the same identity and time, that of the later publish counts.
-- The names here begin with `lake_`, as those of no column do.
with
  lake_bounds as (
    select {{present}} as lake_present
    from {{runs}}
  ),
  lake_newest as (
    select
      lake_c.op as op,
      lake_c.as_of as as_of,
      {{fields}},
      row_number() over (partition by {{identity}}, lake_c.as_of order by lake_c.publish desc) as lake_place
    from {{changes}} as lake_c
    cross join lake_bounds
    where lake_c.publish in (select publish from {{runs}}) and lake_c.as_of <= lake_present
  ),
  lake_latest as (
    select op, {{fields}}, row_number() over (partition by {{identity}} order by as_of desc) as lake_rank
    from lake_newest
    where lake_place = 1 and op <> 'void'
  )
select {{columns}}
from lake_latest
where lake_rank = 1 and op <> 'delete'
