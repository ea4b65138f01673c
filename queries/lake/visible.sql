-- grain: one row per publish that readers see, with the time up to which it has runs
create or replace temp table lake_publishes as
select publish, max(as_of) as as_of
from lake_runs_changes
group by publish;
