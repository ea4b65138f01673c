-- The rows of a load query, as a part of other statements. {{columns}}: the values that the table stores.
select {{columns}}
from ({{rows}}) as loaded
