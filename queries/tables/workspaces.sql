-- grain: one row per workspace of the organization (Explorer view `workspaces`)
-- key: external_id
-- source: workspaces
-- unordered: modules, providers, tags
-- past: current_run_applied_at, workspace_created_at, workspace_updated_at
-- name: workspace_name
-- place: project_external_id, project_name
-- renewed: workspace_updated_at
-- told_in_part: yes
create table if not exists workspaces_history (
  target varchar not null, -- name of the target in tidemark.yaml
  all_checks_succeeded boolean, -- whether all checks of the workspace succeeded
  current_rum_count bigint, -- resources under management
  checks_errored bigint, -- checks that errored without completing
  checks_failed bigint, -- checks that completed and failed
  checks_passed bigint, -- checks that completed and passed
  checks_unknown bigint, -- checks that could not be assessed
  current_run_applied_at timestamptz, -- when the current run was applied; null if it was not
  current_run_external_id varchar, -- ID of the current run
  current_run_status varchar, -- status of the current run
  drifted boolean, -- whether drift was detected; null means not assessed, never clean
  external_id varchar, -- ID of the workspace (ws-…)
  module_count bigint, -- distinct modules used
  modules varchar, -- comma-separated modules; null when none
  organization_name varchar, -- name of the organization
  project_external_id varchar, -- ID of the project
  project_name varchar, -- name of the project
  provider_count bigint, -- distinct providers used
  providers varchar, -- comma-separated providers; null when none
  resources_drifted bigint, -- resources with drift
  resources_undrifted bigint, -- resources without drift
  state_version_iac_version varchar, -- tool version that wrote the current state
  vcs_repo_identifier varchar, -- connected repository; null when none
  workspace_created_at timestamptz, -- creation time
  workspace_name varchar, -- name of the workspace
  workspace_iac_version varchar, -- tool version configured for the workspace
  workspace_updated_at timestamptz, -- time of the last update
  tags varchar, -- tags, each a key or `key:value`, separated by comma and space (`flavor: hashicorp`); null when none
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
