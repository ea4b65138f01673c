-- Whether a table ever had rows of a subject. {{subject}}: its name, its key, or a part of a key; other parts: as of table_changes.sql
select 1 as known
from {{history}} as n
where {{key n}} = {{subject}} or {{name n}} = {{subject}} or list_contains(string_split({{key n}}, '/'), {{subject}})
