-- The publishes whose rows are restored: {{which}}, those of a shard, or all.
create or replace temp view lake_restored_runs as
select *
from runs_changes
where {{which}};
