-- grain: one row per KMS provider
-- title: KMS providers
-- sources: key_distributions, kms_providers
-- empty: No provider is known.
-- labels: name=Provider; provider=Kind; key_collection=Collection; keys=Keys
-- subjects: name=KMS provider
with
  held as (
    select target, provider_name, count(*) as keys from key_distributions_at($as_of) group by target, provider_name
  )
select
  providers.target,
  providers.name,
  providers.provider,
  providers.key_collection,
  coalesce(held.keys, if(assessed.target is null or unknown.value is not null, null, 0)) as keys,
from kms_providers_at($as_of) as providers
left join assessed_targets('empty-kms-provider', ['key_distributions', 'kms_providers'], $as_of) as assessed
  on assessed.target = providers.target
left join (from unknown_parts_at($as_of) where source = 'key_distributions') as unknown
  on unknown.target = providers.target and unknown.value = providers.name
left join held on held.target = providers.target and held.provider_name = providers.name
order by keys, providers.name, providers.target;
