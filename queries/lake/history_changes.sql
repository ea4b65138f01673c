-- grain: one row per change of a history after a time: versions that began, and rows that ended without a next version
-- {{stored}}: the history; {{values}}: its columns as the lake holds them; {{fields}}, {{begun}}, {{ended}}: the fields
-- parameters: $after
create or replace temp table lake_pending as
with
  recent as (
    select valid_from, valid_to, {{values}}
    from {{stored}}
    where valid_from > $after::timestamptz or valid_to > $after::timestamptz
  ),
  begun as (
    select if(ended.valid_to is null, 'insert', 'update') as op, begun.valid_from as as_of, {{begun}}
    from recent as begun
    left join recent as ended on ended.valid_to = begun.valid_from and {{same}}
    where begun.valid_from > $after::timestamptz
  ),
  gone as (
    select 'delete' as op, ended.valid_to as as_of, {{ended}}
    from recent as ended
    anti join recent as begun on begun.valid_from = ended.valid_to and {{same}}
    where ended.valid_to > $after::timestamptz
  )
select op, as_of, {{fields}}
from begun
union all
select op, as_of, {{fields}}
from gone;
