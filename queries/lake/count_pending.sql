-- grain: one row: how many rows are pending, and how many of them remove one
select count(*) as rows, count(*) filter (where op = 'delete') as deleted
from lake_pending;
