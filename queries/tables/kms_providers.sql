-- grain: one row per KMS provider
-- key: name
-- source: kms_providers
create table if not exists kms_providers_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the provider
  provider varchar, -- kind of external provider
  key_collection varchar, -- where the provider keeps keys
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
