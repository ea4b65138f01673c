-- grain: one row per row of `tf_versions`, `providers` or `modules` at a time, as it is stored: these tables would assemble every list of workspaces
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro stored_versions_at(source_name, at_time) as table
select *
from query_table(source_name || '_rows')
where
  valid_from <= at_time::timestamptz
  and (valid_to is null or valid_to > at_time::timestamptz)
  and target not in (from left_out_targets(source_name, at_time));
