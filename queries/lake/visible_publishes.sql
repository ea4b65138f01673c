-- grain: one row per publish that readers see, and whether it is one of the writer
select publish, publish in (select publish from lake_runs) as is_own
from lake_publishes;
