-- Adds all members of the lists of new rows. {{first}}, {{last}}: the rows of the delta to read, a part of them.
insert into {{table}}_members by name
with
  lists as (
    select row_number() over () as list_id, {{key}}, string_split(list_text, ', ') as names
    from stage_{{table}}
    where rowid in (select stage_row from delta_{{table}} where rowid between {{first}} and {{last}} and history_row is null)
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
  single as (
    select {{key}}, unnest(names) as member, generate_subscripts(names, 1)::double as rank, 1 as nth
    from lists
    anti join repeating using (list_id)
  ),
  several as (
    select {{key}}, unnest(names) as member, generate_subscripts(names, 1)::double as rank
    from lists
    semi join repeating using (list_id)
  )
select *, $as_of::timestamptz as valid_from
from single
union all by name
select *, row_number() over (partition by {{key}}, member order by rank) as nth, $as_of::timestamptz as valid_from
from several;
