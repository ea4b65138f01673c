-- No rows: for the names and types of a query's columns. The query is on the second line: see `queryError`.
-- {{source}}: the query as a table.
from {{source}}
limit 0;
