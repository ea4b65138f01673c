-- grain: one row per version that goes: a later one replaced it before the start
-- The newest version of a row stays, and all that an unresolved finding about it has seen.
-- {{old}}: the result; {{stored}}: the history; {{key}}: what identifies a row; {{opened}}: queries of versions with such a finding
-- parameters: $start
create or replace temp table {{old}} as
with
  opened as (
    select null::bigint as opened_row, null::timestamptz as opened_at
    {{opened}}
  ),
  protected as (
    select opened_row, min(opened_at) as opened_at
    from opened
    group by opened_row
  ),
  numbered as (
    select rowid as old_row, valid_to, lead(valid_from) over (partition by {{key}} order by valid_from) as next_from
    from {{stored}}
  )
select old_row
from numbered
left join protected on opened_row = old_row
where next_from <= $start::timestamptz and (opened_at is null or valid_to < opened_at);
