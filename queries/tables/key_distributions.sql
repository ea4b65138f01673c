-- grain: one row per key in a KMS provider
-- key: provider_name, key_name
-- source: key_distributions
-- part: provider_name
-- name: key_name
-- acted: secrets.kms-keys name, key_name; secrets.keys name
create table if not exists key_distributions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  provider_name varchar, -- name of the provider
  key_name varchar, -- name of the key
  distributed_name varchar, -- name of the key in the provider
  protection varchar, -- where operations run, e.g. hsm
  purpose varchar[], -- what the key may be used for
  versions json, -- the provider's version ID of each version number
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
