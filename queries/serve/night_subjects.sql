-- grain: one row per key of a table's row and subject. {{label}}, {{subject}}: table and kind, literals; {{key}}: the key of `n` as text
-- {{versions}}: the versions of the subjects; {{after}}: those that ended before do not count
select distinct target, {{label}} as "table", {{key n}} as key, {{subject}} as subject_type, subject_id
from ({{versions}}) as n
where n.valid_to is null or n.valid_to > {{after}}::timestamptz
