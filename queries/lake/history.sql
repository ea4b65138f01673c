-- Every version of the rows of a relation. A `refresh` is no version: it changes columns of the version before it.
-- {{changes}}, {{runs}}: tables of the lake; {{identity}}: what identifies a row; {{fields}}: what the row has;
-- {{columns}}: the same as the result names it
-- The names here begin with `lake_`, as those of no column do.
with
  lake_newest as (
    select
      lake_c.op as op,
      lake_c.as_of as as_of,
      {{fields}},
      row_number() over (partition by {{identity}}, lake_c.as_of order by lake_c.publish desc) as lake_place
    from {{changes}} as lake_c
    where lake_c.publish in (select publish from {{runs}})
  ),
  lake_numbered as (
    select
      op,
      as_of,
      {{fields}},
      sum(case when op = 'refresh' then 0 else 1 end) over (partition by {{identity}} order by as_of) as lake_version
    from lake_newest
    where lake_place = 1 and op <> 'void'
  ),
  lake_versions as (
    select
      op,
      {{fields}},
      min(as_of) over (partition by {{identity}}, lake_version) as valid_from,
      row_number() over (partition by {{identity}}, lake_version order by as_of desc) as lake_rank
    from lake_numbered
  ),
  lake_ended as (
    select op, {{fields}}, valid_from, lead(valid_from) over (partition by {{identity}} order by valid_from) as valid_to
    from lake_versions
    where lake_rank = 1
  )
select {{columns}}, valid_from, valid_to
from lake_ended
where op <> 'delete'
