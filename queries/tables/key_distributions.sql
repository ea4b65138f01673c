-- grain: one row per key held by a provider
-- key: provider_name, key_name
-- source: key_distributions
create table if not exists key_distributions_history (
  target varchar not null, -- name of the target in tidemark.yaml
  provider_name varchar, -- name of the provider
  key_name varchar, -- name of the key
  distributed_name varchar, -- name of the key in the provider
  protection varchar, -- where operations run, e.g. hsm
  purpose varchar[], -- what the key may be used for
  versions json, -- version number to the provider's version identifier
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
