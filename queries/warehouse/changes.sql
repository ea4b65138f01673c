-- grain: one row per change of a row of any table: `new`, `gone` and `back` are one row, another change is one row per column
-- {{changes}}: the union of table_changes.sql for every table, as a literal: a text of 130 KB is quick to read and write, and the tree that
-- DuckDB makes of it would cost each opening 30 ms and each checkpoint 100 ms
-- catalogue: yes
-- logged_at: at
--  at timestamptz -- `as_of` of the pull that saw the change
--  target varchar -- name of the target in tidemark.yaml
--  table varchar -- table of the row
--  key varchar -- key of the row as text, such as `default/db` for a volume
--  name varchar -- name of the row after the change
--  change varchar -- `new`, `gone` and `back`: one row; `changed`, `renamed` and `moved`: one row for each column
--  column varchar -- column that changed; null for `new`, `gone` and `back`
--  old varchar -- value before, as text; for `new`, the ID of an earlier thing that had its name
--  new varchar -- value after, as text
create or replace view changes as
from query({{changes}});
