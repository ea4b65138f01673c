-- grain: one row per statement of the policy that nothing can meet: a range that no version is in, a recommended version below the minimum
select name, 'denied: no version is in ' || versions as problem
from version_policy
where
  semver_key(coalesce(at_least, above)) > semver_key(coalesce(at_most, below))
  or (
    semver_key(coalesce(at_least, above)) = semver_key(coalesce(at_most, below))
    and (at_least is null or at_most is null)
  )
union all
select recommended.name, format('recommended: {} is below the minimum {}', recommended.versions, minimum.versions)
from version_policy as recommended
join version_policy as minimum using (kind, name)
where
  recommended.says = 'recommended'
  and minimum.says = 'minimum'
  and semver_key(recommended.below) < semver_key(minimum.below)
order by name, problem;
