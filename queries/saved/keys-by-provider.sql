-- title: Which keys live in which provider
-- description: Each key of the secrets server with the KMS providers that hold it; keys without a known provider come last.
-- param: provider text = '' - only this provider
select
  keys.target,
  key_distributions.provider_name,
  kms_providers.provider as provider_kind,
  keys.name as key_name,
  keys.type,
  keys.latest_version,
  key_distributions.protection,
  key_distributions.purpose
from keys
left join key_distributions on key_distributions.target = keys.target and key_distributions.key_name = keys.name
left join kms_providers on kms_providers.target = keys.target and kms_providers.name = key_distributions.provider_name
where $provider = '' or key_distributions.provider_name = $provider
order by keys.target, key_distributions.provider_name nulls last, keys.name;
