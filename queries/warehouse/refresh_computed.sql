-- Keeps computed columns of current rows up to date, without a new version.
-- {{targets}}: the targets of the stage, as literals; {{assignments}}, {{differs}}: the computed columns, from the stage.
-- {{isUnknown}}: true for rows of a part that could not be listed, which are left as they are.
update {{history}} as open
set {{assignments}}
from (from stage_{{table}} where not ({{isUnknown}})) as stage
where open.target in ({{targets}}) and open.valid_to is null and {{sameKey}} and ({{differs}});
