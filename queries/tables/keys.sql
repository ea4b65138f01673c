-- grain: one row per key of the key management engine
-- key: name
-- source: keys
-- acted: secrets.keys name
create table if not exists keys_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the key
  type varchar, -- key type
  deletion_allowed boolean, -- whether the key may be deleted
  min_enabled_version bigint, -- lowest enabled version; 0 means all
  latest_version bigint, -- highest version
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
