-- grain: one row per allocation claiming a volume
-- key: volume_id, allocation_id, mode, namespace
-- source: volumes
-- past: created_at, modified_at
-- volatile: yes
-- part: namespace
-- computed: modify_index, modified_at
-- renewed: task_states
-- acted: scheduler.volumes volume_id, namespace
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
  name varchar, -- name of the allocation
  eval_id varchar, -- evaluation that placed it
  job_type varchar, -- type of the job: service, batch, system
  node_name varchar, -- name of the node
  desired_description varchar, -- why the scheduler requests that status
  client_description varchar, -- why the node reports that status
  previous_allocation varchar, -- allocation that it replaces
  next_allocation varchar, -- allocation that replaces it
  reschedule_tracker json, -- reschedules that led to it: time in Unix nanoseconds, delay, previous allocation and node
  task_states json, -- state, restarts, times and events by task
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change
  created_at timestamptz, -- creation time
  modified_at timestamptz, -- time of the last change
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
