-- grain: one row per change of a history that the lake does not hold as it is, from the time in `lake_reach` on
-- What is current at that time is compared with the last row of the lake before it, whoever wrote that; each later version is a change.
-- A row of another writer is of the same version if nothing differs that makes one: {{content}}. A row of this writer is, if it is not older.
-- Keys and hashes are compared, and only the rows that differ are read as a whole.
-- {{stored}}: the history; {{values}}: its columns as the lake holds them; {{whole}}, {{fields}}: the fields, of the hash and as they are
create or replace temp table lake_pending as
with
  stored as (
    select rowid as lake_row, valid_from as lake_begun, valid_to as lake_ended, {{values}}
    from {{stored}}
  ),
  version as (
    select
      greatest(lake_begun, lake_from) as lake_at,
      lake_row,
      lake_begun,
      lake_ended,
      lake_complete,
      hash({{whole}}) as lake_whole,
      hash({{content}}) as lake_content,
      {{identity}}
    from stored
    join lake_reach on lake_target = target
    where lake_ended is null or lake_ended > lake_from
  ),
  placed as (
    select
      *,
      lag(lake_ended) over (partition by {{identity}} order by lake_at) as lake_previous,
      lead(lake_at) over (partition by {{identity}} order by lake_at) as lake_next,
      row_number() over (partition by {{identity}} order by lake_at) as lake_nth
    from version
  ),
  held as (
    select
      log.rowid as lake_row,
      as_of,
      lake_is_own,
      lake_from,
      lake_complete,
      1 as lake_nth,
      hash({{whole}}) as lake_whole,
      hash({{content}}) as lake_content,
      {{identity}}
    from lake_log as log
    join lake_reach on lake_target = target
    where as_of < lake_from
    qualify row_number() over (partition by {{identity}} order by as_of desc) = 1 and op <> 'delete'
  ),
  begun as (
    select
      case
        when begun.lake_nth > 1 then if(begun.lake_previous = begun.lake_at, 'update', 'insert')
        when ended.lake_row is null or ended.lake_complete < begun.lake_at then 'insert'
        when if(ended.lake_is_own, begun.lake_begun > ended.as_of, begun.lake_content <> ended.lake_content) then 'update'
        when begun.lake_whole <> ended.lake_whole then 'refresh'
      end as op,
      begun.lake_at as as_of,
      begun.lake_row
    from placed as begun
    left join held as ended on ended.lake_nth = begun.lake_nth and {{same}}
  ),
  -- An end that this warehouse knows, at the time from which it is compared.
  known_end as (
    select lake_from, {{identity}}
    from stored
    join lake_reach on lake_target = target
    where lake_ended = lake_from
  ),
  missing as (
    select if(begun.lake_from is null, ended.lake_complete, ended.lake_from) as as_of, ended.*
    from (select * exclude (as_of) from held) as ended
    left join known_end as begun on {{same}}
  ),
  gone as (
    select ended.as_of, ended.lake_row
    from missing as ended
    left join (from placed where lake_nth = 1) as begun on {{same}}
    where ended.as_of is not null and (begun.lake_at is null or begun.lake_at > ended.as_of)
  ),
  implied as (
    select op, as_of, {{fields}}
    from begun
    join stored using (lake_row)
    where op is not null
    union all
    select 'delete' as op, lake_ended as as_of, {{fields}}
    from (select lake_row from placed where lake_ended is not null and lake_ended is distinct from lake_next)
    join stored using (lake_row)
    union all
    select 'delete' as op, gone.as_of, {{fields}}
    from gone
    join (select rowid as lake_row, {{fields}} from lake_log) using (lake_row)
  ),
  later as (
    select op, as_of, {{fields}}
    from lake_log
    join lake_reach on lake_target = target
    where as_of >= lake_from
  )
select begun.*
from implied as begun
left join later as ended on ended.as_of = begun.as_of and {{same}}
where ended.op is null or begun is distinct from ended
union all
select 'void' as op, ended.* exclude (op)
from later as ended
anti join implied as begun on ended.as_of = begun.as_of and {{same}};
