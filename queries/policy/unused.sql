-- grain: one row per name of the policy that nothing has, as of $as_of
select distinct kind, name
from version_policy
anti join (from versions_in_use_at($as_of)) as used using (kind, name)
order by kind, name;
