-- grain: one row per publish that readers see, with the time up to which it has runs, and whether it is one of the writer
-- parameters: $writer
create or replace temp table lake_runs as
select publish, max(as_of) as as_of, publish % 1024 = $writer as is_own
from lake_runs_changes
group by publish;
