-- The rows of a query, rendered.
-- {{expressions}}: what of each row. {{source}}: the query as a table, its columns named c0, c1, ...
select {{expressions}}
from {{source}};
