-- grain: one row per volume in the storage provider
-- key: plugin_id, external_id
-- source: external_volumes
create table if not exists external_volumes_history (
  target varchar not null, -- name of the target in tidemark.yaml
  plugin_id varchar, -- storage plugin
  external_id varchar, -- ID in the storage provider
  capacity_bytes bigint, -- capacity, bytes
  snapshot_id varchar, -- snapshot that it was made from
  published_node_ids varchar[], -- provider's IDs of the nodes it is attached to
  is_abnormal boolean, -- whether the provider reports trouble
  status varchar, -- the provider's words; null when normal
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
