-- grain: one row per range of the policy that no version is in
select name, versions
from version_policy
where
  semver_key(coalesce(at_least, above)) > semver_key(coalesce(at_most, below))
  or (
    semver_key(coalesce(at_least, above)) = semver_key(coalesce(at_most, below))
    and (at_least is null or at_most is null)
  )
order by name, versions;
