-- grain: one row of a table
-- {{table}}; {{first}}: columns that come first, each with a comma
select {{first}} *{{rest}}
from {{table}}
