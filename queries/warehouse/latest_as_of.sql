-- grain: one row: the latest `valid_from` of the warehouse, and the first
select max(as_of) as latest, min(as_of) filter (status <> 'left-out') as first
from pulls;
