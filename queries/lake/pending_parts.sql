-- grain: one row per month with pending rows
select distinct strftime(as_of, '%Y-%m') as month
from lake_pending
order by month;
