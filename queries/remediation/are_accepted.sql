-- grain: one row: whether all of these findings are accepted now. $ids, $now
select count(*) = len(list_distinct($ids::varchar[])) as accepted
from findings
where list_contains($ids::varchar[], finding_id) and state = 'accepted' and accepted_until > $now::timestamptz;
