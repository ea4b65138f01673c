-- rule: A KMS provider has no keys.
-- severity: info
-- sources: kms_providers, key_distributions
-- proves: complete listing of key_distributions
-- subject: KMS provider
-- many: KMS providers have no key
-- repair: delete the providers
-- grain: one row per such provider
select
  target,
  name as subject_id,
  name as subject_name,
  format('KMS provider {} has no keys', name) as title,
  json_object('provider_name', name, 'provider', provider, 'key_collection', key_collection) as detail,
from kms_providers
where not exists (
  from key_distributions as distributed
  where distributed.target = kms_providers.target and distributed.provider_name = kms_providers.name
)
