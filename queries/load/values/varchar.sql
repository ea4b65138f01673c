-- The value of a text column; empty texts are null. {{column}}: of the landed rows
nullif({{column}}::varchar, '')
