-- Adds all members of the lists of new rows. {{first}}, {{last}}: the rows of the delta to read, a part of them.
insert into {{table}}_members by name
with
  lists as (
    select {{key}}, string_split(list_text, ', ') as names
    from stage_{{table}}
    where rowid in (select stage_row from delta_{{table}} where rowid between {{first}} and {{last}} and history_row is null)
  ),
  named as (
    select {{key}}, unnest(names) as member, generate_subscripts(names, 1)::double as rank
    from lists
  )
select *, row_number() over (partition by {{key}}, member order by rank) as nth, $as_of::timestamptz as valid_from
from named;
