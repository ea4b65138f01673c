-- How many versions of a key providers may use; null where one of the two numbers is not reported. A lowest version of 0, the default, enables
-- all, as 1 does (docs/services/secrets.md#keys). {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro versions_enabled(latest_version, min_enabled_version) as
  if(min_enabled_version is null, null, latest_version - greatest(min_enabled_version, 1) + 1);
