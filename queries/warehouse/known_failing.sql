-- Whether checks of a workspace fail, by their number: null where it is not reported, and where it is 0 and others could not be assessed.
-- {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro known_failing(number, not_assessed) as if(number <= 0 and coalesce(not_assessed, 1) > 0, null, number > 0);
