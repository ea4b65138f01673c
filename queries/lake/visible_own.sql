-- grain: one row per publish of a writer that readers see, with the time up to which it has runs
-- parameters: $writer
create or replace temp table lake_runs as
select publish, as_of
from lake_publishes
where publish % 1024 = $writer;
