-- grain: one row per target, project, night and measure of the runs after a time
create or replace temp table lake_pending as
select 'insert' as op, as_of, {{values}}
from (
{{rollup}}
);
