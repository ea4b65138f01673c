-- No rows: for the names and types of a query's columns.
-- {{source}}: the query as a table.
select *
from {{source}}
limit 0;
