-- The rows of a relation whose rows are written once, as of a time. It has no states, and each of its changes is an insert.
-- {{changes}}, {{runs}}: tables of the lake; {{present}}: the time; {{identity}}: what identifies a row; {{fields}}: what the row has;
-- {{columns}}: the same as the result names it
-- A row counts once its publish is in {{runs}}. Of two rows with the same identity, the later one counts, and at the same time that of the
-- later publish, which has written the relation again.
-- The names here begin with `lake_`, as those of no column do.
with
  lake_bounds as (
    select {{present}} as lake_present
    from {{runs}}
  ),
  lake_latest as (
    select {{fields}}, row_number() over (partition by {{identity}} order by lake_c.as_of desc, lake_c.publish desc) as lake_rank
    from {{changes}} as lake_c
    cross join lake_bounds
    where lake_c.publish in (select publish from {{runs}}) and lake_c.as_of <= lake_present
  )
select {{columns}}
from lake_latest
where lake_rank = 1
