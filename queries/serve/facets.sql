-- grain: one row per column and value that rows have in common, and one without a column: the number of all rows
-- {{rows}}: the rows that the filters leave; {{facets}}: the union of facet.sql for the columns
with filtered as materialized ({{rows}})
select null as name, null as value, count(*) as row_count
from filtered
{{facets}}
