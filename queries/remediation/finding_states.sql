-- grain: one row per finding of the given IDs. $ids, $now
select
  finding_id,
  if(state = 'accepted' and accepted_until <= $now::timestamptz, 'open', state) as state,
from findings
where list_contains($ids::varchar[], finding_id)
order by finding_id;
