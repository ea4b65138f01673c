-- grain: one row per publish that readers see
select distinct publish
from lake_runs_changes
order by publish;
