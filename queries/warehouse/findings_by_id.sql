-- Findings by ID.
select finding_id, state, title
from findings
where list_contains($ids::varchar[], finding_id)
order by finding_id;
