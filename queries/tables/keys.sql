-- grain: one row per key of the key management engine
-- key: name
-- source: keys
create table if not exists keys_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the key
  type varchar, -- key type
  deletion_allowed boolean, -- whether the key may be deleted
  min_enabled_version bigint, -- lowest enabled version; 0 means all
  latest_version bigint, -- highest version
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
