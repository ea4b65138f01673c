-- grain: one row per plugin, and whether it can list its snapshots
-- key: plugin_id
-- source: volume_snapshots
-- volatile: yes
create table if not exists volume_snapshot_listings_history (
  target varchar not null, -- name of the target in tidemark.yaml
  plugin_id varchar, -- storage plugin
  supported boolean, -- false when the plugin says that it cannot list, null when it did not answer: what it has is then unknown
  error varchar, -- why there is no list
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
