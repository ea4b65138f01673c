-- grain: one row per version of a key
-- key: key_name, version
-- source: keys
create table if not exists key_versions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  key_name varchar, -- name of the key
  version bigint, -- version number
  creation_time timestamptz, -- when the version was made
  public_key varchar, -- PEM; null for symmetric keys
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
