-- Writes the rows of a query to a file. The query is on the second line: see `queryError`.
-- {{expressions}}, {{source}}: as in rows.sql. {{target}}, {{options}}: the file and its format.
copy (from {{source}}
  select {{expressions}}
) to {{target}} ({{options}});
