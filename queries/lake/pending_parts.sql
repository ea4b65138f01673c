-- grain: one row per month or quarter with pending rows
select distinct strftime(as_of, '%Y-%m') as month, strftime(date_trunc('quarter', as_of), '%Y-%m') as quarter
from lake_pending
order by month;
