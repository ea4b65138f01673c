-- grain: one row: `as_of` of the last pull; null without one
select max(as_of) as as_of
from pulls;
