-- Adds all members of the lists of new rows. {{first}}, {{last}}: the rows of the stage to read, a part of them.
insert into {{table}}_members by name
with
  added as (
    select {{key}}, string_split(list_text, ', ') as names
    from stage_{{table}}
    where
      rowid between {{first}} and {{last}}
      and rowid in (select stage_row from delta_{{table}} where stage_row is not null)
  ),
  lists as (
    select *, row_number() over () as list_id
    from added
  ),
  hashed as (
    select list_id, hash(unnest(names)) as member
    from lists
  ),
  -- Only these lists need a window over their members.
  repeating as (
    select distinct list_id
    from hashed
    group by list_id, member
    having count(*) > 1
  ),
  repeated as (
    select {{key}}, list_id, unnest(names) as member, generate_subscripts(names, 1) as position
    from lists
    semi join repeating using (list_id)
  )
select {{key}}, unnest(names) as member, 1 as nth, generate_subscripts(names, 1)::double as rank, $as_of::timestamptz as valid_from
from lists
anti join repeating using (list_id)
union all
select
  {{key}},
  member,
  row_number() over (partition by list_id, member order by position) as nth,
  position as rank,
  $as_of::timestamptz as valid_from,
from repeated;
