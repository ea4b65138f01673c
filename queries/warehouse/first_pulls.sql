-- grain: one row per target with a complete pull of a source: its first one
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro first_pulls(source_name) as table
select target, min(as_of) as first_as_of
from pulls
where source = source_name and status = 'complete'
group by target;
