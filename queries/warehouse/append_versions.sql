-- Adds the new versions.
insert into {{history}} by name
select stage.*, $as_of::timestamptz as valid_from
from stage_{{table}} as stage
where stage.rowid in (select stage_row from delta_{{table}} where stage_row is not null);
