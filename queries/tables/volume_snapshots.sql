-- grain: one row per snapshot of a volume
-- key: plugin_id, snapshot_id
-- source: volume_snapshots
-- part: plugin_id
-- past: created_at
-- acted: scheduler.snapshots plugin_id, snapshot_id
create table if not exists volume_snapshots_history (
  target varchar not null, -- name of the target in tidemark.yaml
  plugin_id varchar, -- storage plugin
  snapshot_id varchar, -- ID of the snapshot
  external_source_volume_id varchar, -- ID of the volume in the provider
  size_bytes bigint, -- size, bytes; null if the driver does not tell it
  created_at timestamptz, -- creation time
  is_ready boolean, -- whether it can be used
  is_ambiguous boolean, -- true when it may belong to another plugin whose ID begins with this one; otherwise null
  parameters json, -- parameters of the snapshot for the storage plugin
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
