-- title: What playbooks changed
-- description: Actions of applied plans, the newest first.
-- param: since timestamp = now() - interval 30 days - only actions later than this
from actions
where coalesce(finished_at, started_at) >= $since::timestamptz
order by coalesce(finished_at, started_at) desc;
