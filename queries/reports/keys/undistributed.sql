-- grain: one row per key that is in no provider
-- title: In no provider
-- sources: key_distributions, keys
-- empty: No key is known to be in no provider.
-- labels: name=Key; type=Type; latest_version=Latest version; deletion_allowed=Deletion allowed
-- subjects: name=key
select
  keys.target,
  keys.name,
  keys.type,
  keys.latest_version,
  keys.deletion_allowed,
from keys_at($as_of) as keys
semi join assessed_targets('retired-key', ['key_distributions', 'keys'], $as_of) as assessed on assessed.target = keys.target
anti join key_distributions_at($as_of) as held on held.target = keys.target and held.key_name = keys.name
order by keys.name, keys.target;
