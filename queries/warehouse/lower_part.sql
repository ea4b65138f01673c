-- The most significant part in which a key of `semver_key` is lower than that of the newest release.
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro lower_part(key, newest_key) as
  case
    when key[:18] < newest_key[:18] then 'major'
    when key[:37] < newest_key[:37] then 'minor'
    when key[:56] < newest_key[:56] then 'patch'
    else 'prerelease'
  end;
