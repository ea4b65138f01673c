-- grain: one row per change of a row of any table: `new`, `gone` and `back` are one row, another change is one row per column
-- {{changes}}: the union of table_changes.sql for every table
create or replace view changes as
{{changes}};
