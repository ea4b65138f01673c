-- Adds the new versions.
insert into {{history}} by name
select {{columns}}, $as_of::timestamptz as valid_from
from stage_{{table}}
where rowid in (select stage_row from delta_{{table}} where stage_row is not null);
