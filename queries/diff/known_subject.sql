-- Whether a table ever had rows of a subject. {{history}}; {{key}}, {{name}}: of `n`; {{subject}}: its name, its key, or a part of a key
select 1 as known
from {{history}} as n
where {{key}} = {{subject}} or {{name}} = {{subject}} or list_contains(string_split({{key}}, '/'), {{subject}})
