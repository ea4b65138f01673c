-- Keeps computed columns of current rows up to date, without a new version.
-- {{targets}}: the targets of the stage, as literals; {{assignments}}, {{differs}}: the computed columns, from the stage.
update {{history}} as open
set {{assignments}}
from stage_{{table}} as stage
where open.target in ({{targets}}) and open.valid_to is null and {{sameKey}} and ({{differs}});
