-- grain: one row: when the first version of a history began; null for none
select min(valid_from) as first
from {{stored}};
