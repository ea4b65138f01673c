-- The publishes whose rows are restored. {{writer}}: the shard that they belong to, or null for all.
create or replace temp view lake_restored_runs as
select *
from runs_changes
where {{writer}} is null or publish % 1024 = {{writer}};
