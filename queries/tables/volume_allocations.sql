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
  client_status varchar, -- status that the node reports
  desired_status varchar, -- status that the scheduler requests
  namespace varchar, -- namespace of the volume
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
