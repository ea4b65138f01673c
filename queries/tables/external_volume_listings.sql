-- grain: one row per plugin, and whether it can list its volumes
-- key: plugin_id
-- source: external_volumes
-- volatile: yes
create table if not exists external_volume_listings_history (
  target varchar not null, -- name of the target in tidemark.yaml
  plugin_id varchar, -- storage plugin
  supported boolean, -- false where the plugin cannot list: what it holds is then unknown
  error varchar, -- the service's words when it cannot
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
