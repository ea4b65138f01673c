-- grain: one row per name of the policy that nothing has, as of $as_of
select distinct kind, name
from version_policy
anti join (from versions_in_use_at($as_of)) as used
  on used.kind = version_policy.kind
  and (used.name = version_policy.name or (used.kind = 'provider' and lower(used.name) = lower(version_policy.name)))
order by kind, name;
