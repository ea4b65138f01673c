-- grain: one row per target, source and part that the last pull could not list, as of a time; it is empty for a source that failed as a whole
-- is_unsupported: the service says that it cannot list it at all, which is no failure; part: the column that names it; its rows with this value are left as they were, and what it has now is unknown
-- defined: before the views
create or replace macro unknown_parts_at(at_time) as table
select
  parts.target,
  parts.source,
  parts.item ->> 'column' as part,
  parts.item ->> 'value' as value,
  parts.item ->> 'reason' as reason,
  coalesce((parts.item ->> 'isUnsupported')::boolean, false) as is_unsupported,
  parts.as_of,
from (
  select target, source, max(as_of) as as_of, unnest(arg_max_null(unknown_parts, as_of)::json[]) as item
  from pulls
  where as_of <= at_time::timestamptz
  group by target, source
  having arg_max(status, as_of) in ('complete', 'partial')
) as parts
where not coalesce((parts.item ->> 'isColumn')::boolean, false);
