-- grain: one row per CSI volume
-- key: volume_id, namespace
-- source: volumes
-- past: created_at, modified_at
-- part: namespace
-- instance: create_index
-- renewed: modify_index, modified_at
-- acted: scheduler.volumes volume_id, namespace
create table if not exists volumes_history (
  target varchar not null, -- name of the target in tidemark.yaml
  volume_id varchar, -- ID of the volume
  external_id varchar, -- ID in the storage provider
  namespace varchar, -- namespace
  name varchar, -- name
  topologies json, -- topology segments, flat maps
  access_mode varchar, -- access mode
  attachment_mode varchar, -- attachment mode
  current_readers bigint, -- claims for reading
  current_writers bigint, -- claims for writing
  schedulable boolean, -- whether it can be scheduled
  plugin_id varchar, -- storage plugin
  provider varchar, -- storage provider
  controller_required boolean, -- whether a controller plugin is needed
  controllers_healthy bigint, -- healthy controllers
  controllers_expected bigint, -- expected controllers
  nodes_healthy bigint, -- healthy node plugins
  nodes_expected bigint, -- expected node plugins
  resource_exhausted bigint, -- as documented; Unix seconds when the service returns a time, 0 for none
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change
  requested_capabilities json, -- access and attachment modes that it may be claimed with
  provider_version varchar, -- version of the storage provider's plugin
  capacity_bytes bigint, -- capacity, bytes; null if the service does not tell it, as of a registered volume
  requested_capacity_min_bytes bigint, -- requested minimum capacity, bytes; 0 for none
  requested_capacity_max_bytes bigint, -- requested maximum capacity, bytes; 0 for none
  mount_options json, -- file system and mount options, without the mount flags, which may contain secrets
  parameters json, -- parameters for the storage plugin
  created_at timestamptz, -- creation time; null when the service does not know it
  modified_at timestamptz, -- time of the last change; null when the service does not know it
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
