-- grain: one row per KMS provider
-- key: name
-- source: kms_providers
-- acted: secrets.kms name
create table if not exists kms_providers_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the provider
  provider varchar, -- kind of external provider
  key_collection varchar, -- where the provider keeps keys
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
