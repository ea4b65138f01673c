-- grain: one row per allocation claiming a volume
-- key: volume_id, allocation_id, mode, namespace
-- source: volumes
-- volatile: yes
create table if not exists volume_allocations_history (
  target varchar not null, -- name of the target in tidemark.yaml
  volume_id varchar, -- ID of the volume
  allocation_id varchar, -- ID of the allocation
  mode varchar, -- `read` or `write`
  node_id varchar, -- node it runs on
  job_id varchar, -- job
  task_group varchar, -- task group
  client_status varchar, -- what the node reports
  desired_status varchar, -- what the scheduler wants
  namespace varchar, -- namespace of the volume
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
