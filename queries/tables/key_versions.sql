-- grain: one row per version of a key
-- key: key_name, version
-- source: keys
-- past: creation_time
-- name: key_name
-- acted: secrets.keys name
create table if not exists key_versions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  key_name varchar, -- name of the key
  version bigint, -- version number
  creation_time timestamptz, -- creation time of the version
  public_key varchar, -- PEM; null for symmetric keys
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
