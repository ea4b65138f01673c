-- Whether a workspace drifts, as far as its row tells: null where drift is not assessed, or where the answer contradicts its own count.
-- {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro known_drift(drifted, resources_drifted) as if(drifted is false and resources_drifted > 0, null, drifted);
