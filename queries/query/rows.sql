-- The rows of a query, rendered. The query is on the second line: see `queryError`.
-- {{expressions}}: what of each row. {{source}}: the query as a table, its columns named c0, c1, ...
from {{source}}
select {{expressions}};
