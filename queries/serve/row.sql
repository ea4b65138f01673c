-- grain: one row per version of the row with a key, the newest first
-- {{history}}; {{key}}: condition on the columns of the key; $as_of
select *
from {{history}}
where {{key}} and valid_from <= $as_of::timestamptz
order by valid_from desc
