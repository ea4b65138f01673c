-- grain: one row: the latest `valid_from` of the warehouse, or start of a run. A new run must be later, whatever the clock says.
select greatest((select max(as_of) from pulls), (select max(started_at) from runs)) as latest;
