-- grain: one row per row of the stage: its list, kept here while the stage holds the list's digest
create or replace temp table lists_{{table}} as
select {{key}}, {{list}} as list
from stage_{{table}};
