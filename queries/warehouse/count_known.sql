-- How many rows of a group meet a condition; null where there are some and it is known of none: 0 would say that it is known of all.
-- {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro count_known(condition) as if(count(*) = 0 or count(condition) > 0, count(*) filter (condition), null);
