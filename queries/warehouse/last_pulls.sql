-- The last pull of each source of each target.
-- $since: pulls before it do not count
select target, source, arg_max(status, as_of) as status, arg_max(extracted_at, as_of) as extracted_at
from pulls
where as_of >= $since::timestamptz
group by all;
