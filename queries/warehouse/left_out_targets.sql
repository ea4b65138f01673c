-- grain: one row per target of which the configuration left a source out, as of a time
-- {{scope}}: empty, or `temp ` for one connection
-- Their rows stay in the history as they were last seen, and nobody watches them. Mostly there are none, which the inner query finds
-- much faster.
-- defined: before the views, and where it is missing
create or replace {{scope}}macro left_out_targets(source_name, at_time) as table
select target
from pulls
where
  source = source_name
  and as_of <= at_time::timestamptz
  and target in (select target from pulls where source = source_name and status = 'left-out')
group by target
having arg_max(status, as_of) = 'left-out';
