-- The rows of a relation as of a time: the last state before it, with the changes since.
-- {{changes}}, {{state}}, {{runs}}: tables of the lake; {{present}}: the time; {{identity}}: what identifies a row;
-- {{fields}}: what the row has; {{columns}}: the same as the result names it
-- A row counts once its publish is in {{runs}}. Of two rows with the same identity and time, that of the later publish counts.
-- Each writer of the lake, which the remainder of a publish names, has states of its own: one that has not published its state of a
-- quarter yet counts with the one before, and does not look empty.
-- The names here begin with `lake_`, as those of no column do.
with
  lake_bounds as (
    select {{present}} as lake_present
    from {{runs}}
  ),
  lake_states as (
    select lake_s.as_of as lake_base_time, lake_s.publish as lake_base_publish
    from {{state}} as lake_s
    cross join lake_bounds
    where lake_s.as_of <= lake_present and lake_s.publish in (select publish from {{runs}})
    group by lake_s.as_of, lake_s.publish
  ),
  lake_ranked as (
    select
      lake_base_publish % 1024 as lake_writer,
      lake_base_time,
      lake_base_publish,
      row_number() over (partition by lake_base_publish % 1024 order by lake_base_time desc, lake_base_publish desc) as lake_place
    from lake_states
  ),
  lake_base as (
    select lake_writer, lake_base_time, lake_base_publish
    from lake_ranked
    where lake_place = 1
  ),
  lake_known as (
    select 'insert' as op, lake_s.as_of as as_of, lake_s.publish as publish, {{fields}}
    from {{state}} as lake_s
    join lake_base on lake_base.lake_base_time = lake_s.as_of and lake_base.lake_base_publish = lake_s.publish
    union all
    select lake_c.op as op, lake_c.as_of as as_of, lake_c.publish as publish, {{fields}}
    from {{changes}} as lake_c
    cross join lake_bounds
    left join lake_base on lake_base.lake_writer = lake_c.publish % 1024
    where
      lake_c.publish in (select publish from {{runs}})
      and lake_c.as_of <= lake_present
      and (
        lake_base_time is null
        or lake_c.as_of > lake_base_time
        or (lake_c.as_of = lake_base_time and lake_c.publish > lake_base_publish)
      )
  ),
  lake_newest as (
    select *, row_number() over (partition by {{identity}}, as_of order by publish desc) as lake_place
    from lake_known
  ),
  lake_latest as (
    select op, {{fields}}, row_number() over (partition by {{identity}} order by as_of desc) as lake_rank
    from lake_newest
    where lake_place = 1 and op <> 'void'
  )
select {{columns}}
from lake_latest
where lake_rank = 1 and op <> 'delete'
