-- Writes the rows of a query to a file.
-- {{expressions}}, {{source}}: as in rows.sql. {{target}}, {{options}}: the file and its format.
copy (
  select {{expressions}}
  from {{source}}
) to {{target}} ({{options}});
