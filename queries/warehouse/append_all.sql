-- Adds every row of the stage: of a target that the table holds nothing of yet.
insert into {{history}} by name
select stage.*, $as_of::timestamptz as valid_from
from stage_{{table}} as stage;
