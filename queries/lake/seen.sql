-- grain: one row per publish that readers see
create or replace temp table lake_seen as
select distinct publish
from lake_seen_runs;
