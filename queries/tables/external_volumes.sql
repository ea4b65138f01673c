-- grain: one row per volume in the storage provider
-- key: external_id, plugin_id
-- source: external_volumes
-- part: plugin_id
create table if not exists external_volumes_history (
  target varchar not null, -- name of the target in tidemark.yaml
  plugin_id varchar, -- storage plugin; null for a volume of a plugin that no registered volume names
  external_id varchar, -- ID in the storage provider
  capacity_bytes bigint, -- capacity, bytes; null if the driver does not tell it
  snapshot_id varchar, -- snapshot that the volume was created from
  published_node_ids varchar[], -- nodes it is attached to, by the provider's IDs
  is_abnormal boolean, -- whether the provider reports a problem
  status varchar, -- status message of the provider; null when normal
  is_ambiguous boolean, -- true when it may belong to another plugin whose ID begins with this one; otherwise null
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
